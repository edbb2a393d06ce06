package process

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// awaitParent waits for the parent's process handle. A process keeps the number of its parent for life, also when that
// one is gone and another process has the number: a parent is older than its child.
func awaitParent(ctx context.Context, parent int) error {
	const access = windows.PROCESS_QUERY_LIMITED_INFORMATION | windows.SYNCHRONIZE
	h, err := windows.OpenProcess(access, false, uint32(parent)) //nolint:gosec // a pid
	if err != nil {
		if err == windows.ERROR_INVALID_PARAMETER { //nolint:errorlint // a plain Errno: nobody has this number
			return nil
		}
		return fmt.Errorf("watch the parent, pid %d: %w", parent, os.NewSyscallError("OpenProcess", err))
	}
	defer windows.CloseHandle(h) //nolint:errcheck // it was only waited for
	theirs, err := createdAt(h)
	if err != nil {
		return err
	}
	ours, err := createdAt(windows.CurrentProcess())
	if err != nil {
		return err
	}
	if theirs > ours {
		return nil
	}
	stopped, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return os.NewSyscallError("CreateEvent", err)
	}
	defer windows.CloseHandle(stopped) //nolint:errcheck // nothing to lose
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(told); _ = windows.SetEvent(stopped) })
	defer func() {
		if !stop() {
			<-told // it uses the event
		}
	}()
	event, err := windows.WaitForMultipleObjects([]windows.Handle{h, stopped}, false, windows.INFINITE)
	switch {
	case err != nil:
		return os.NewSyscallError("WaitForMultipleObjects", err)
	case event == windows.WAIT_OBJECT_0:
		return nil
	}
	return ctx.Err()
}

// createdAt is when a process was created, in units of 100 ns.
func createdAt(h windows.Handle) (int64, error) {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return 0, os.NewSyscallError("GetProcessTimes", err)
	}
	return int64(created.HighDateTime)<<32 | int64(created.LowDateTime), nil
}
