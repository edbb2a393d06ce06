package process

import (
	"sync"
)

// Host is the supervising process as a parent. A process has one; all its children must be started through it, since
// what it does not know is a stranger to it and is reaped as one.
type Host struct {
	// mu makes fork and registration one step against the reaping of strangers: without it a child that ends at once
	// would be reaped as a stranger before it is known.
	mu   sync.Mutex
	own  map[int]*Child
	poke chan struct{} // one of ours has been reaped: strangers may have waited behind it

	watch Watch
}

// Watch is this process's one watch of files.
func (h *Host) Watch() *Watch { return &h.watch }

// NewHost makes the calling process the parent of its descendants' orphans where the system can (Linux:
// PR_SET_CHILD_SUBREAPER, which children do not inherit). It starts nothing; reaping is Run's.
func NewHost() (*Host, error) {
	if err := becomeSubreaper(); err != nil {
		return nil, err
	}
	return &Host{own: map[int]*Child{}, poke: make(chan struct{}, 1)}, nil
}

// Start runs s, on Unix as the leader of a new session, or of a new group where it gets our terminal. It returns when
// the exec has succeeded; the error is a *StartError, and then nothing runs. On Windows the child is created suspended
// in a job object that ends everything in it when its last handle is closed, ours at our death included: keep the Child
// until its tree has been ended. Resume lets it run.
func (h *Host) Start(s Spec) (*Child, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lent := lend(s)
	c, err := launch(s)
	if err != nil {
		return nil, err
	}
	h.own[c.pid] = c
	if c.loan = lent; lent != nil {
		lent.begin(c)
		go h.attend(c)
	}
	h.expect(c)
	return c, nil
}

// reap waits for one child of ours and tells its end.
func (h *Host) reap(c *Child) {
	c.exit = Exit{Code: -1}
	if state, err := c.proc.Wait(); err == nil {
		c.exit = exitOf(state)
	}
	h.mu.Lock()
	if c.loan != nil {
		c.loan.end()
	}
	if h.own[c.pid] == c { // its number may be the next child's by now
		delete(h.own, c.pid)
	}
	h.mu.Unlock()
	close(c.done)
	select {
	case h.poke <- struct{}{}:
	default:
	}
}

// owns tells whether pid is a child that Start made and that has not been reaped.
func (h *Host) owns(pid int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ours := h.own[pid]
	return ours
}

// strangerless tells whether every child of this process is one of Start's, as sure as two looks can tell: the kernel's
// list of children may leave one out while another ends. False where the system has no such list, or no subreaper.
func (h *Host) strangerless() bool {
	for range sureLooks {
		if strangers, known := h.strangers(); !known || len(strangers) > 0 {
			return false
		}
	}
	return true
}

// strangers are the children of this process that Start did not make; known is false where that cannot be told.
func (h *Host) strangers() (strangers []int, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	children, known := orphans()
	for _, pid := range children {
		if _, ours := h.own[pid]; !ours {
			strangers = append(strangers, pid)
		}
	}
	return strangers, known
}
