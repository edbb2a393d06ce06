package fsstate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func helperHoldLock(args []string) int {
	s := mustOpen(args[0])
	defer must(s.Lock(context.Background(), args[1], args[2]))()
	fmt.Fprintln(os.Stdout, "locked")
	untilStdinCloses()
	return 0
}

// helperCountUp adds to a number under the lock in a way that loses additions when two are at it, and finds out by a
// file that only one may make.
func helperCountUp(args []string) int {
	s := mustOpen(args[0])
	for range must(strconv.Atoi(args[1])) {
		unlock := must(s.Lock(context.Background(), "counter", "count"))
		inside := must(os.OpenFile(s.Path(Run, "inside"), os.O_CREATE|os.O_EXCL, 0o600))
		n, _ := os.ReadFile(s.Path(Run, "counter"))
		old, _ := strconv.Atoi(string(n))
		must(0, os.WriteFile(s.Path(Run, "counter"), []byte(strconv.Itoa(old+1)), 0o600))
		must(0, inside.Close())
		must(0, os.Remove(inside.Name()))
		unlock()
	}
	return 0
}

func TestLockExcludesProcesses(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	const processes, rounds = 4, 100
	var wg sync.WaitGroup
	for range processes {
		cmd := helper(t, "count-up", s.Home().Path, strconv.Itoa(rounds))
		wg.Go(func() {
			if out, err := cmd.Output(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	if n, err := os.ReadFile(s.Path(Run, "counter")); err != nil || string(n) != strconv.Itoa(processes*rounds) {
		t.Errorf("counted to %s, %v", n, err)
	}
}

func TestLockExcludesGoroutinesOfOneAndOfTwoStores(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	stores := []*Store{openStore(t, h), openStore(t, h)}
	var inside atomic.Int32 // the race detector does not see what the kernel orders
	var n atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				unlock, err := stores[i%2].Lock(t.Context(), "x", "test")
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two are inside")
				}
				n.Add(1)
				inside.Add(-1)
				unlock()
				unlock() // once more is nothing
			}
		})
	}
	wg.Wait()
	if n.Load() != 400 {
		t.Errorf("%d turns", n.Load())
	}
}

func TestLockedErrorNamesTheHolderAndSIGKILLFreesTheLock(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.lockWait = 50 * time.Millisecond
	holder := start(t, "hold-lock", s.Home().Path, "a.json", "turn run")
	_, err := s.Lock(t.Context(), "a.json", "test")
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.Name != "a.json" || locked.Holder.PID != holder.cmd.Process.Pid ||
		locked.Holder.Purpose != "turn run" || time.Since(locked.Holder.Since) > time.Minute {
		t.Fatalf("Lock: %v (%+v)", err, locked)
	}
	want := fmt.Sprintf("lock a.json: held by pid %d (turn run) since ", holder.cmd.Process.Pid)
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %q", err)
	}
	// A second one of this process waits in our own line, behind the first, which the kernel cannot call back.
	if _, err := s.Lock(t.Context(), "a.json", "test"); err == nil {
		t.Error("second Lock got it")
	} else if _, ok := errors.AsType[*LockedError](err); !ok {
		t.Errorf("second Lock: %v", err)
	}
	holder.kill()
	s.lockWait = LockWait
	unlock, err := s.Lock(t.Context(), "a.json", "test")
	if err != nil {
		t.Fatalf("after SIGKILL: %v", err)
	}
	unlock()
}

func TestLockWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	holder := start(t, "hold-lock", s.Home().Path, "a.json", "turn run")
	got := make(chan error, 1)
	go func() {
		unlock, err := s.Lock(t.Context(), "a.json", "test")
		if err == nil {
			unlock()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	_ = holder.in.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// A machine that stands still for longer than the wait makes nobody a holder.
func TestFreeLockIsTakenThoughTheTimeIsOver(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ctx, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	for range 50 {
		unlock, err := s.Lock(ctx, "a.json", "test")
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	}
}

func TestLockEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	start(t, "hold-lock", s.Home().Path, "a.json", "turn run")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := s.Lock(ctx, "a.json", "test"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := s.Lock(ctx, "a.json", "test")
	if _, ok := errors.AsType[*LockedError](err); !ok {
		t.Errorf("deadline: %v", err)
	}
}

func TestLockOfAFileThatLostItsNameIsNone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	file := stripeFile(stripeOf("a.json"))
	for what, spoil := range map[string]func(path string) error{
		"removed":  os.Remove,
		"replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
	} {
		l := s.lockFile(file)
		if ok, err := l.TryLock(); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if err := spoil(l.Path()); err != nil {
			t.Fatal(err)
		}
		if ok, err := s.stillThere(l, file); ok || err != nil {
			t.Errorf("%s: %v, %v", what, ok, err)
		}
		if l.Locked() {
			t.Errorf("%s: kept", what)
		}
		unlock, err := s.Lock(t.Context(), "a.json", "test")
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		unlock()
	}
}

func TestLockAllTakesAStripeOnceAndReleasesWhatItGotWhenOneIsHeld(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s, other := openStore(t, h), openStore(t, h)
	s.lockWait = 50 * time.Millisecond
	twin := sameStripe("a.json")
	unlock, err := s.LockAll(t.Context(), "test", "a.json", twin, "a.json")
	if err != nil {
		t.Fatalf("names of one stripe: %v", err)
	}
	unlock()

	free, held := "a.json", "b.json"
	if stripeOf(free) == stripeOf(held) || stripeOf(free) > stripeOf(held) {
		free, held = held, free
	}
	release, err := other.Lock(t.Context(), held, "hold")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := s.LockAll(t.Context(), "test", held, free); err == nil {
		t.Fatal("got a held lock")
	}
	unlock, err = s.Lock(t.Context(), free, "test")
	if err != nil {
		t.Fatalf("the free one was kept: %v", err)
	}
	unlock()
}

// sameStripe finds another name of the same stripe.
func sameStripe(name string) string {
	for i := 0; ; i++ {
		if other := strconv.Itoa(i); stripeOf(other) == stripeOf(name) {
			return other
		}
	}
}

func TestLongPurposeCostsTheNameNotTheLock(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	unlock, err := s.Lock(t.Context(), "a.json", strings.Repeat("x", 10*holderSize))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if h := s.holder(stripeFile(stripeOf("a.json"))); h.PID != os.Getpid() || h.Purpose != "" {
		t.Errorf("holder %+v", h)
	}
}

func BenchmarkLock(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		unlock, err := s.Lock(b.Context(), "x.json", "benchmark")
		if err != nil {
			b.Fatal(err)
		}
		unlock()
	}
}

func TestALongWaitForALockIsToldByTheNextEvent(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	next := func() int64 {
		fatalIf(t, s.Journal(Event{Kind: "x"}))
		var last Event
		_, _, err := s.FollowJournal(JournalPosition{}, func(e Event) { last = e })
		fatalIf(t, err)
		return last.LockMillis
	}
	unlock, err := s.Lock(t.Context(), "a", "hold")
	fatalIf(t, err)
	if ms := next(); ms != 0 {
		t.Errorf("a lock that was free: %d ms", ms)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*toldWait)
	defer cancel()
	if _, err := s.Lock(ctx, "a", "wait"); err == nil {
		t.Fatal("locked")
	}
	events := 0
	_, _, err = s.FollowJournal(JournalPosition{}, func(Event) { events++ })
	fatalIf(t, err)
	if events != 1 {
		t.Errorf("a wait that ran out wrote something: %d events", events)
	}
	if ms := next(); ms < toldWait.Milliseconds() {
		t.Errorf("a wait that ran out: %d ms", ms)
	}
	if ms := next(); ms != 0 {
		t.Errorf("told twice: %d ms", ms)
	}
	time.AfterFunc(2*toldWait, unlock)
	got, err := s.Lock(t.Context(), "a", "wait")
	fatalIf(t, err)
	got()
	if ms := next(); ms < toldWait.Milliseconds() {
		t.Errorf("a wait: %d ms", ms)
	}
}

func fatalIf(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
