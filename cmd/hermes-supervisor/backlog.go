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
	lastLines  = time.Second // what the end of the program waits for a reader that takes nothing
)

// backlog is a stream whose reader may hang, as an app may that has started us, or a pager. Nobody here waits for that:
// lines wait in memory, and those beyond maxBacklog are dropped and counted. Write takes whole lines and may be called from
// several goroutines.
type backlog struct {
	to    io.Writer
	about func(lost int64) string // the line that tells of them
	start func()                  // has lines printed: most commands say nothing
	ended chan struct{}

	mu      sync.Mutex
	more    sync.Cond // something waits, or nothing will come
	waiting []line
	bytes   int   // of waiting, and of what is being written
	lost    int64 // lines, since the last one that was written
	hangs   bool  // somebody has waited in vain since then
	closed  bool
}

type line struct {
	text []byte
	out  chan struct{} // closed when it is written, or lost; nil: nobody waits for it
}

func newBacklog(to io.Writer, about func(lost int64) string) *backlog {
	b := &backlog{to: to, about: about, ended: make(chan struct{})}
	b.more.L = &b.mu
	b.start = sync.OnceFunc(func() { go b.print() })
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
	b.put(line{text: append([]byte(nil), p...)})
	return len(p), nil
}

func (b *backlog) put(l line) {
	switch {
	case b.closed || b.bytes+len(l.text) > maxBacklog:
		b.lost++
		if l.out != nil {
			close(l.out)
		}
	default:
		b.start()
		b.waiting = append(b.waiting, l)
		b.bytes += len(l.text)
		b.more.Signal()
	}
}

func (b *backlog) say(format string, args ...any) {
	_, _ = io.WriteString(b, said(format, args...))
}

// inOrder is a backlog beside whoever else prints to the same place, as an agent does: Write returns when the line is out,
// unless the reader hangs.
type inOrder struct{ *backlog }

func (o inOrder) Write(p []byte) (int, error) {
	l := line{text: append([]byte(nil), p...), out: make(chan struct{})}
	o.mu.Lock()
	o.put(l)
	hangs := o.hangs
	o.mu.Unlock()
	if hangs {
		return len(p), nil
	}
	select {
	case <-l.out:
	case <-time.After(lastLines):
		o.mu.Lock()
		o.hangs = true
		o.mu.Unlock()
	}
	return len(p), nil
}

func (b *backlog) print() {
	defer close(b.ended)
	for {
		lines := b.take()
		if lines == nil {
			return
		}
		for _, l := range lines {
			_, _ = b.to.Write(l.text) // a reader that is gone misses nothing
			if n := b.written(l); n > 0 {
				_, _ = io.WriteString(b.to, b.about(n))
			}
		}
	}
}

// take waits for lines; nil when there will be none.
func (b *backlog) take() (lines []line) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.waiting) == 0 && !b.closed {
		b.more.Wait()
	}
	lines, b.waiting = b.waiting, nil
	return lines
}

// written makes room again, and takes over how many lines were lost meanwhile.
func (b *backlog) written(l line) (lost int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes -= len(l.text)
	b.hangs = false
	if l.out != nil {
		close(l.out)
	}
	lost, b.lost = b.lost, 0
	return lost
}

// close prints what still waits for as long as the reader takes something. The second time it does nothing.
func (b *backlog) close() {
	if !b.last() {
		return
	}
	for before := b.left(); ; {
		select {
		case <-b.ended:
			return
		case <-time.After(lastLines):
		}
		left := b.left()
		if left == before {
			return
		}
		before = left
	}
}

// left is how much has not been written.
func (b *backlog) left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}

// flush is close for the end of the program: like any other it waits for its reader, until a signal ends it.
func (b *backlog) flush() {
	if b.last() {
		<-b.ended
	}
}

// last lets nothing be added any more; false where it was so already.
func (b *backlog) last() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.closed = true
	b.start()
	b.more.Signal()
	return true
}

// lostLines and lostEvents are what is printed where lines are missing.
func lostLines(n int64) string {
	return fmt.Sprintf("hermes-supervisor: %d lines were not read in time and are lost\n", n)
}

func lostEvents(n int64) string {
	return fmt.Sprintf("{\"event\":\"lost\",\"lines\":%d,\"schema\":%d}\n", n, schema)
}
