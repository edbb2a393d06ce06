package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
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
		const line = "hermes-supervisor: line\n"
		kept := (maxBacklog - len("hermes-supervisor: first\n")) / len(line)
		for range kept + 3 {
			b.say("line")
		}
		close(reader.free)
		b.close()
		got := reader.got.String()
		want := "hermes-supervisor: first\n{\"event\":\"lost\",\"lines\":3,\"schema\":1}\n" + strings.Repeat(line, kept)
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

// slow is a reader that takes one line in that time.
type slow struct {
	each time.Duration
	got  int
}

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(s.each)
	s.got++
	return len(p), nil
}

func TestBacklogLosesNothingToAReaderThatIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := &slow{each: lastLines * 9 / 10}
		b := newBacklog(reader, lostLines)
		for range 100 {
			b.say("line")
		}
		b.close()
		if reader.got != 100 {
			t.Errorf("%d lines of 100", reader.got)
		}
	})
}

// TestTwoStreamsInOneFileKeepTheirOrder is a terminal, and 2>&1.
func TestTwoStreamsInOneFileKeepTheirOrder(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "both"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	again, err := os.OpenFile(file.Name(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	out, errs := newBacklogs(file, again, lostLines)
	var want strings.Builder
	for i := range 1000 {
		out.say("out %d", i)
		errs.say("err %d", i)
		fmt.Fprintf(&want, "hermes-supervisor: out %d\nhermes-supervisor: err %d\n", i, i)
	}
	errs.close()
	out.close()
	if got, err := os.ReadFile(file.Name()); err != nil || string(got) != want.String() {
		t.Errorf("%v, %d bytes, want %d", err, len(got), want.Len())
	}
	if out, errs := newBacklogs(io.Discard, file, lostLines); out == errs {
		t.Error("two files are one stream")
	}
}
