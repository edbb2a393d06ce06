package output

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestTailGivesTheLastLinesOverArchives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(Out, lines(0, 150))
	w.sweep(1 << 20)
	w.write(Out, lines(150, 300))
	w.sweep(1 << 20)
	w.write(Out, lines(300, 305))
	w.write(Err, "one\n\n\nunfinished")
	for _, tc := range []struct {
		n         int
		only      []Stream
		out, errs string
	}{
		{0, nil, "", ""},
		{-1, nil, "", ""},
		{1, nil, lines(304, 305), "unfinished"},
		{2, nil, lines(303, 305), "\nunfinished"},
		{5, nil, lines(300, 305), "one\n\n\nunfinished"},
		{6, []Stream{Out}, lines(299, 305), ""},
		{200, []Stream{Out, Err}, lines(105, 305), "one\n\n\nunfinished"},
		{1 << 40, []Stream{Err}, "", "one\n\n\nunfinished"},
	} {
		got := map[Stream]string{}
		err := w.log.Tail(tc.n, func(s Stream, b []byte) error { got[s] += string(b); return nil }, tc.only...)
		if err != nil || got[Out] != tc.out || got[Err] != tc.errs {
			t.Errorf("%d lines: out %s, err %q, %v", tc.n, short(got[Out]), got[Err], err)
		}
	}
	full := errors.New("reader is gone")
	if err := w.log.Tail(5, func(Stream, []byte) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestReadingMakesNothing(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	if _, err := OpenRead(store, service); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if names, err := store.Logs(); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
}

// follower is a Follow in the background whose output is waited for.
type follower struct {
	t    *testing.T
	got  chan string
	all  string
	stop func() error
}

func follow(t *testing.T, l *Log, n int, only ...Stream) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{t: t, got: make(chan string, 1000)}
	done := make(chan error, 1)
	go func() {
		done <- l.Follow(ctx, n, func(_ Stream, b []byte) error { f.got <- string(b); return nil }, only...)
	}()
	f.stop = func() error { cancel(); return <-done }
	return f
}

// wants waits until exactly this has come since the last time.
func (f *follower) wants(want string) {
	f.t.Helper()
	deadline := time.After(20 * time.Second)
	for f.all != want {
		select {
		case more := <-f.got:
			if f.all += more; !strings.HasPrefix(want, f.all) {
				f.t.Fatalf("followed %s, want %s", short(f.all), short(want))
			}
		case <-deadline:
			f.t.Fatalf("followed %s, want %s", short(f.all), short(want))
		}
	}
	f.all = ""
}

// TestWhatIsPrintedBeforeItsReaderIsScheduledIsGiven: the place is taken before the launch, however late the reading begins.
func TestWhatIsPrintedBeforeItsReaderIsScheduledIsGiven(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(Out, "of an earlier launch\n")
	var got string
	emit := func(_ Stream, b []byte) error { got += string(b); return nil }
	f, err := w.log.Follower(0, emit)
	if err != nil {
		t.Fatal(err)
	}
	w.launch()
	w.write(Out, "begun\n")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Follow(over, emit); err != nil || got != "begun\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFollowGoesOnOverSweepsRestartsAndCuts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(Out, lines(0, 20))
	f := follow(t, must(OpenRead(w.log.store, service)), 2, Out)
	f.wants(lines(18, 20))
	w.write(Out, lines(20, 200))
	f.wants(lines(20, 200))
	w.sweep(1 << 20)
	w.write(Out, lines(200, 220))
	f.wants(lines(200, 220))
	w.successor()
	w.launch()
	w.write(Err, "not asked for\n")
	w.write(Out, lines(220, 400)+"unfin")
	w.sweep(1 << 20)
	f.wants(lines(220, 400) + "unfin")
	w.write(Out, "ished\n")
	f.wants("ished\n")
	if err := w.f[0].Truncate(0); err != nil {
		t.Fatal(err)
	}
	w.write(Out, "after a cut\n")
	f.wants("after a cut\n")
	w.sweep(1 << 20)
	w.write(Out, lines(400, 500))
	f.wants(lines(400, 500))
	w.sweep(1 << 20)
	w.write(Out, "end\n")
	f.wants("end\n")
	if err := f.stop(); err != nil {
		t.Error(err)
	}
}

func TestFollowGivesBothStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(Out, "old\n")
	f := follow(t, w.log, 1)
	f.wants("old\n")
	for range 3 {
		w.write(Err, "x\n")
		f.wants("x\n")
		w.write(Out, "y\n")
		f.wants("y\n")
	}
	if err := f.stop(); err != nil {
		t.Error(err)
	}
}
