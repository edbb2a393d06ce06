package process

import (
	"os"
	"strconv"
)

// exitOf is the Exit of an ended process. Windows has no signals: a terminated process has the code that it was
// terminated with.
func exitOf(state *os.ProcessState) Exit { return Exit{Code: state.ExitCode()} }

func signalName(sig int) string { return strconv.Itoa(sig) }
