//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// children are the processes below this one. It is their subreaper, so that nothing that a killed keeper leaves behind
// gets away: as long as anything of the storm lives, this process has a child.
type children struct {
	mu   sync.Mutex
	own  map[int]*child
	born chan struct{} // there may be somebody to wait for again
}

// A child is a process that the storm has started itself.
type child struct {
	target

	done   chan struct{} // closed when it has ended and was reaped
	status unix.WaitStatus
}

func newChildren() (*children, error) {
	// Go tries out pidfds once, with a child of its own: before anybody reaps what it does not know.
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Release()
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the subreaper of the storm: %w", err)
	}
	c := &children{own: map[int]*child{}, born: make(chan struct{}, 1)}
	go c.reap()
	return c, nil
}

// start runs a program as the leader of a session of its own, with output to out.
func (c *children) start(argv, env []string, dir string, out *os.File) (*child, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close() //nolint:errcheck // only read
	c.mu.Lock()
	defer c.mu.Unlock() // what ends at once is known before it is reaped
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Dir: dir, Env: env, Files: []*os.File{null, out, out}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, err
	}
	defer p.Release() //nolint:errcheck // signals go by target
	ch := &child{done: make(chan struct{})}
	c.own[p.Pid] = ch
	select {
	case c.born <- struct{}{}:
	default:
	}
	ch.target, err = targetOf(p.Pid) // it cannot be reaped before the lock is released
	return ch, err
}

// reap takes every dead child away, the storm's own and what came to it, for as long as this program runs. It only looks
// until it has the lock, so that start knows a child before its number is free again.
func (c *children) reap() {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WALL, nil)
		if errors.Is(err, unix.ECHILD) {
			<-c.born
			continue
		}
		c.mu.Lock()
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG|unix.WALL, nil)
		if ch := c.own[pid]; err == nil && ch != nil {
			delete(c.own, pid)
			ch.status = status
			close(ch.done)
		}
		c.mu.Unlock()
	}
}

// none tells whether nothing is left below this process, zombies included.
func (c *children) none() bool {
	return errors.Is(unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil), unix.ECHILD)
}

// end kills everything below this process.
func (c *children) end() {
	for !c.none() {
		all, err := descendants()
		if err != nil {
			return
		}
		for _, t := range all {
			t.signal(unix.SIGKILL)
		}
		time.Sleep(pollEvery)
	}
}
