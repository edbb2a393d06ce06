package process

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// awaitParent waits for NOTE_EXIT of kqueue(2), which tells of the process as a whole. The wait has a thread of its own;
// the end of ctx wakes it by an event of the user's.
func awaitParent(ctx context.Context, parent int) error {
	queue, err := unix.Kqueue()
	if err != nil {
		return pollParent(ctx, parent)
	}
	defer unix.Close(queue) //nolint:errcheck // nothing to lose
	unix.CloseOnExec(queue)
	var exit, wake unix.Kevent_t
	unix.SetKevent(&exit, parent, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	exit.Fflags = unix.NOTE_EXIT
	unix.SetKevent(&wake, 1, unix.EVFILT_USER, unix.EV_ADD|unix.EV_CLEAR)
	if _, err := unix.Kevent(queue, []unix.Kevent_t{exit, wake}, nil, nil); err != nil { // ESRCH: it is gone
		return pollParent(ctx, parent)
	}
	if os.Getppid() != parent {
		return nil
	}
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		unix.SetKevent(&wake, 1, unix.EVFILT_USER, 0)
		wake.Fflags = unix.NOTE_TRIGGER
		_, _ = unix.Kevent(queue, []unix.Kevent_t{wake}, nil, nil)
	})
	defer func() {
		if !stop() {
			<-woken // it uses the queue
		}
	}()
	events := make([]unix.Kevent_t, 1)
	for {
		n, err := unix.Kevent(queue, nil, events, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return pollParent(ctx, parent)
		case n > 0 && events[0].Filter == unix.EVFILT_PROC:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}
