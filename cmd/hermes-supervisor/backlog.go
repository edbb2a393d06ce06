package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

const (
	maxBacklog = 512         // lines
	lastLines  = time.Second // what the end of the program waits for a reader that does not read
)

// backlog is a stream whose reader may hang, as an app may that has started us. Nobody here waits for that: lines wait in
// memory, and what is beyond maxBacklog of them is dropped and counted. Write takes whole lines and may be called from
// several goroutines.
type backlog struct {
	to    io.Writer
	lost  atomic.Int64
	lines chan []byte
	end   chan struct{}
	ended chan struct{}
	about func(lost int64) string // the line that tells of them
}

func newBacklog(to io.Writer, about func(lost int64) string) *backlog {
	b := &backlog{to: to, about: about, lines: make(chan []byte, maxBacklog), end: make(chan struct{}), ended: make(chan struct{})}
	go b.print()
	return b
}

// Write always takes all of p.
func (b *backlog) Write(p []byte) (int, error) {
	select {
	case b.lines <- append([]byte(nil), p...):
	default:
		b.lost.Add(1)
	}
	return len(p), nil
}

func (b *backlog) say(format string, args ...any) {
	fmt.Fprintf(b, "hermes-supervisor: "+format+"\n", args...)
}

func (b *backlog) print() {
	defer close(b.ended)
	for {
		select {
		case line := <-b.lines:
			b.put(line)
		case <-b.end:
			for {
				select {
				case line := <-b.lines:
					b.put(line)
				default:
					return
				}
			}
		}
	}
}

func (b *backlog) put(line []byte) {
	_, _ = b.to.Write(line) // a reader that is gone misses nothing
	if n := b.lost.Swap(0); n > 0 {
		_, _ = io.WriteString(b.to, b.about(n))
	}
}

// close prints what still waits, unless the reader hangs on.
func (b *backlog) close() {
	close(b.end)
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
