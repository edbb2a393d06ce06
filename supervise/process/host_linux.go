package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reapTick bounds how long a zombie stranger stays if a SIGCHLD was lost (they are not queued).
const reapTick = 30 * time.Second

func becomeSubreaper() error {
	// Go tries out pidfds once per process, by forking a child and waiting for it: before anybody reaps strangers.
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Release()
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the subreaper of our descendants: %w", err)
	}
	return nil
}

// Run reaps strangers (orphans that were reparented to this process) until ctx ends. Children of Start are reaped
// without it.
func (h *Host) Run(ctx context.Context) error {
	chld := make(chan os.Signal, 1)
	signal.Notify(chld, unix.SIGCHLD)
	defer signal.Stop(chld)
	tick := time.NewTicker(reapTick)
	defer tick.Stop()
	for {
		h.reapStrangers()
		select {
		case <-ctx.Done():
			return nil
		case <-chld:
		case <-h.poke:
		case <-tick.C:
		}
	}
}

// reapStrangers peeks at the zombies and takes away those that Start did not make. One of ours ends the round: its own
// goroutine reaps it and pokes us.
func (h *Host) reapStrangers() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		pid, err := peekChild()
		if err != nil || pid == 0 {
			return
		}
		if _, ours := h.own[pid]; ours {
			return
		}
		if err := waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOHANG); err != nil {
			return
		}
	}
}

// childless tells whether this process has no child at all, zombies included: one system call that the kernel answers
// under its lock, so that no child can slip through while it looks.
func childless() bool {
	_, err := peekChild()
	return errors.Is(err, syscall.ECHILD)
}

// peekChild is a zombie child that waits to be reaped, 0 when none does, ECHILD when there is no child. It reaps
// nothing.
func peekChild() (int, error) {
	var info childInfo
	err := waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT)
	return int(info.pid), err
}

// childInfo is the kernel's siginfo_t as waitid fills it; x/sys leaves its union unnamed.
type childInfo struct {
	_   [3]int32
	_   [unsafe.Sizeof(uintptr(0)) / 8]int32 // the union is aligned to 8 on 64-bit systems
	pid int32
	_   [128]byte // at least the rest of the 128 bytes
}

func waitid(idType, id int, info *childInfo, options int) error {
	for {
		// __WALL: a clone with another exit signal is a child as well.
		err := unix.Waitid(idType, id, (*unix.Siginfo)(unsafe.Pointer(info)), options|unix.WALL, nil) //nolint:gosec // childInfo is that struct, named
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
