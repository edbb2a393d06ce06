package process

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// exits waits for the ends of all children at once: one epoll instance over the handles that os.Process has of them,
// which waits in Go's poller itself. So a hundred idle children cost neither threads nor goroutines.
type exits struct {
	once sync.Once
	fd   int // of the epoll instance; -1 where it cannot be had

	mu   sync.Mutex
	reap map[int32]func() // by pid
}

// children is that of this process.
var children exits

// expect has a child reaped at its end. Where there is no handle to wait for, a goroutine waits, which blocks a thread.
func (h *Host) expect(c *Child) {
	children.once.Do(func() {
		if children.open() {
			go children.watch()
		}
	})
	if !children.add(c, func() { h.reap(c) }) {
		go h.reap(c)
	}
}

func (e *exits) open() bool {
	e.reap = map[int32]func(){}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.SetNonblock(fd, true) // or os.NewFile takes it for a file that cannot be waited for
	}
	if e.fd = fd; err != nil {
		e.fd = -1
	}
	return err == nil
}

func (e *exits) add(c *Child, reap func()) bool {
	if e.fd < 0 {
		return false
	}
	pid := int32(c.pid) //nolint:gosec // a pid
	e.mu.Lock()
	e.reap[pid] = reap
	e.mu.Unlock()
	var failed error
	err := c.proc.WithHandle(func(handle uintptr) {
		failed = unix.EpollCtl(e.fd, unix.EPOLL_CTL_ADD, int(handle), &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: pid})
	})
	if errors.Join(err, failed) == nil {
		return true
	}
	e.take(pid)
	return false
}

func (e *exits) take(pid int32) func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	reap := e.reap[pid]
	delete(e.reap, pid)
	return reap
}

// watch ends with the process. Each child is reaped by a goroutine of its own: one that is traced keeps its parent
// waiting for the tracer.
func (e *exits) watch() {
	f := os.NewFile(uintptr(e.fd), "ends of children")
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	events := make([]unix.EpollEvent, 64)
	for {
		n := 0
		if err := conn.Read(func(fd uintptr) bool {
			n, _ = retry(func() (int, error) { return unix.EpollWait(int(fd), events, 0) })
			return n > 0
		}); err != nil {
			return
		}
		for _, event := range events[:n] {
			if reap := e.take(event.Fd); reap != nil {
				go reap()
			}
		}
	}
}
