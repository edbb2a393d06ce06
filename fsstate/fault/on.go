//go:build faultpoints && linux

package fault

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Environment of a process built with -tags faultpoints.
const (
	// Var is "POINT:ACTION:N": at the N-th passage of POINT the process does ACTION to itself, kill or stop.
	Var = "HERMES_SUPERVISOR_FAULT"
	// LogVar is a file to which a process appends the name of the point at which it is about to act, one line each.
	LogVar = "HERMES_SUPERVISOR_FAULT_LOG"
)

var (
	point, action string
	left          atomic.Int64
)

func init() {
	parts := strings.Split(os.Getenv(Var), ":")
	if len(parts) != 3 {
		return
	}
	n, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return
	}
	point, action = parts[0], parts[1]
	left.Store(n)
}

// At kills or stops this process, if this is the point and the passage that its environment names.
func At(at string) {
	if at != point || left.Add(-1) != 0 {
		return
	}
	if f, err := os.OpenFile(os.Getenv(LogVar), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err == nil {
		_, _ = f.WriteString(at + "\n")
		_ = f.Close()
	}
	signal := syscall.SIGKILL
	if action == "stop" {
		signal = syscall.SIGSTOP
	}
	// To this very thread: it does not run on until the signal has been taken.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), signal)
}
