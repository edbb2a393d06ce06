package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"hermes-supervisor/supervise/process"
)

// atTerminal tells whether this process's streams are its controlling terminal, with it in the foreground: only then is
// there something to hand over.
func (a *app) atTerminal() bool {
	return a.stdin == os.Stdin && process.InForeground(os.Stdin) &&
		process.InForeground(a.stdout) && process.InForeground(a.stderr)
}

// maxHeldBack bounds what waits for the terminal; what is beyond it is in the journal.
const maxHeldBack = 16 << 10

// heldBack is stderr while a program of ours may have the terminal: what would be printed into that one's screen waits
// until the terminal is ours again. Its methods may be called from several goroutines.
type heldBack struct {
	to       io.Writer
	terminal *os.File

	mu      sync.Mutex
	waiting []byte
	dropped int // lines
}

// Write takes whole lines, and always all of them.
func (h *heldBack) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case process.InForeground(h.terminal):
		h.print()
		_, _ = h.to.Write(b) // a terminal that is gone has no reader to miss it
	case len(h.waiting)+len(b) <= maxHeldBack:
		h.waiting = append(h.waiting, b...)
	default:
		h.dropped++
	}
	return len(b), nil
}

func (h *heldBack) say(format string, args ...any) {
	_, _ = io.WriteString(h, said(format, args...))
}

// release prints what still waits, wherever the terminal is.
func (h *heldBack) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.print()
}

func (h *heldBack) print() {
	_, _ = h.to.Write(h.waiting)
	if h.dropped > 0 {
		fmt.Fprintf(h.to, "hermes-supervisor: %d lines were not kept until now\n", h.dropped)
	}
	h.waiting, h.dropped = nil, 0
}
