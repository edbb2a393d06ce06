package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// hanging is a reader that takes nothing until it is let go.
type hanging struct {
	free chan struct{}
	got  strings.Builder
}

func (h *hanging) Write(p []byte) (int, error) {
	<-h.free
	return h.got.Write(p)
}

func TestBacklogWaitsForNobodyAndCountsWhatIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := &hanging{free: make(chan struct{})}
		b := newBacklog(reader, lostEvents)
		b.say("first")
		synctest.Wait() // it is with the reader
		for range maxBacklog + 3 {
			b.say("line")
		}
		close(reader.free)
		b.close()
		got := reader.got.String()
		want := "hermes-supervisor: first\n{\"event\":\"lost\",\"lines\":3,\"schema\":1}\n" + strings.Repeat("hermes-supervisor: line\n", maxBacklog)
		if got != want {
			t.Errorf("%d bytes, want %d: %.200q", len(got), len(want), got)
		}
		b.say("too late") // nobody reads it, and nobody waits
	})
}

func TestBacklogEndsBesideAReaderThatHangsOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := &hanging{free: make(chan struct{})}
		b := newBacklog(reader, lostLines)
		b.say("line")
		began := time.Now()
		b.close()
		if took := time.Since(began); took != lastLines {
			t.Errorf("closed after %s", took)
		}
		close(reader.free)
	})
}
