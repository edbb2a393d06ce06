//go:build unix

package process

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// exitOf is the Exit of a reaped process.
func exitOf(state *os.ProcessState) Exit {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok {
		return exitOfStatus(ws)
	}
	return Exit{Code: -1}
}

// exitOfStatus reads the status word of wait(2).
func exitOfStatus(ws syscall.WaitStatus) Exit {
	if ws.Signaled() {
		return Exit{Code: 128 + int(ws.Signal()), Signal: int(ws.Signal()), Signaled: true}
	}
	return Exit{Code: ws.ExitStatus()}
}

// signalName is "SIGKILL", or the number where the system has no name for it (real-time signals).
func signalName(sig int) string {
	if name := unix.SignalName(syscall.Signal(sig)); name != "" {
		return name
	}
	return strconv.Itoa(sig)
}
