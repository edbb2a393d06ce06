package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	maxBacklog = 1 << 20     // bytes: a hundred for each of ten thousand lines
	lastLines  = time.Second // what the end of the program waits for a reader that does not read
)

// backlog is a stream whose reader may hang, as an app may that has started us, or a pager. Nobody here waits for that:
// lines wait in memory, and those beyond maxBacklog are dropped and counted. Write takes whole lines and may be called from
// several goroutines.
type backlog struct {
	to    io.Writer
	about func(lost int64) string // the line that tells of them
	ended chan struct{}

	mu      sync.Mutex
	more    sync.Cond // something waits, or nothing will come
	waiting [][]byte
	bytes   int   // of waiting, and of what is being written
	lost    int64 // lines, since the last one that was written
	closed  bool
}

func newBacklog(to io.Writer, about func(lost int64) string) *backlog {
	b := &backlog{to: to, about: about, ended: make(chan struct{})}
	b.more.L = &b.mu
	go b.print()
	return b
}

// newBacklogs are those of two streams, which are one where both go to the same file: its lines keep their order.
func newBacklogs(stdout, stderr io.Writer, about func(lost int64) string) (out, errs *backlog) {
	out = newBacklog(stdout, about)
	if same(stdout, stderr) {
		return out, out
	}
	return out, newBacklog(stderr, lostLines)
}

func same(a, b io.Writer) bool {
	one, aFile := a.(*os.File)
	two, bFile := b.(*os.File)
	if !aFile || !bFile {
		return false
	}
	oneInfo, oneErr := one.Stat()
	twoInfo, twoErr := two.Stat()
	return oneErr == nil && twoErr == nil && os.SameFile(oneInfo, twoInfo)
}

// Write always takes all of p.
func (b *backlog) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
	case b.bytes+len(p) > maxBacklog:
		b.lost++
	default:
		b.waiting = append(b.waiting, append([]byte(nil), p...))
		b.bytes += len(p)
		b.more.Signal()
	}
	return len(p), nil
}

func (b *backlog) say(format string, args ...any) {
	fmt.Fprintf(b, "hermes-supervisor: "+format+"\n", args...)
}

func (b *backlog) print() {
	defer close(b.ended)
	for {
		lines := b.take()
		if lines == nil {
			return
		}
		for _, line := range lines {
			_, _ = b.to.Write(line) // a reader that is gone misses nothing
			if n := b.written(len(line)); n > 0 {
				_, _ = io.WriteString(b.to, b.about(n))
			}
		}
	}
}

// take waits for lines; nil when there will be none.
func (b *backlog) take() (lines [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.waiting) == 0 && !b.closed {
		b.more.Wait()
	}
	lines, b.waiting = b.waiting, nil
	return lines
}

// written makes room again, and takes over how many lines were lost meanwhile.
func (b *backlog) written(n int) (lost int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes -= n
	lost, b.lost = b.lost, 0
	return lost
}

// close prints what still waits, unless the reader hangs on. The second time it does nothing.
func (b *backlog) close() {
	b.mu.Lock()
	again := b.closed
	b.closed = true
	b.more.Signal()
	b.mu.Unlock()
	if again {
		return
	}
	select {
	case <-b.ended:
	case <-time.After(lastLines):
	}
}

// lostLines and lostEvents are what is printed where lines are missing.
func lostLines(n int64) string {
	return fmt.Sprintf("hermes-supervisor: %d lines were not read in time and are lost\n", n)
}

func lostEvents(n int64) string {
	return fmt.Sprintf("{\"event\":\"lost\",\"lines\":%d,\"schema\":%d}\n", n, schema)
}
