package fsstate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// helperHoldLease takes a lease and never lets go of it.
func helperHoldLease(args []string) int {
	_, held, err := mustOpen(args[0]).TryLease(args[1])
	fmt.Fprintln(os.Stdout, held, err)
	untilStdinCloses()
	return 0
}

// leased waits out the forks of the tests beside this one: each carries a copy of every open file until its exec.
func leased(t *testing.T, s *Store, name string) (release func()) {
	t.Helper()
	for late := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		release, held, err := s.TryLease(name)
		if err != nil {
			t.Fatal(err)
		}
		if held {
			return release
		}
		if time.Now().After(late) {
			t.Fatal("the lease is not free")
		}
	}
}

func expectTaken(t *testing.T, when string, s *Store, name string) {
	t.Helper()
	if release, held, err := s.TryLease(name); release != nil || held || err != nil {
		t.Errorf("%s: held %v, %v", when, held, err)
	}
}

func TestALeaseExcludesAnotherProcessAndIsFreeAfterItsDeath(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	holder := start(t, "hold-lease", s.Home().Path, "handoffs")
	if holder.said != "true <nil>\n" {
		t.Fatalf("the first process: %s", holder.said)
	}
	inTime(t, func() { expectTaken(t, "another process has it", s, "handoffs") })
	if second := start(t, "hold-lease", s.Home().Path, "handoffs"); second.said != "false <nil>\n" {
		t.Errorf("a second process: %s", second.said)
	}
	leased(t, s, "another")() // nothing but the one is taken
	holder.kill()
	release := leased(t, s, "handoffs")
	if third := start(t, "hold-lease", s.Home().Path, "handoffs"); third.said != "false <nil>\n" {
		t.Errorf("a process beside this one: %s", third.said)
	}
	release()
	leased(t, s, "handoffs")()
}

func TestALeaseExcludesGoroutinesOfOneAndOfTwoStores(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	stores := []*Store{openStore(t, h), openStore(t, h)}
	release := leased(t, stores[0], "handoffs")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { expectTaken(t, "a goroutine", stores[i%2], "handoffs") })
	}
	wg.Wait()
	release()

	var inside, wins atomic.Int32
	for i := range 8 {
		wg.Go(func() {
			for range 100 {
				release, held, err := stores[i%2].TryLease("handoffs")
				if err != nil {
					t.Error(err)
				}
				if !held {
					continue
				}
				if inside.Add(1) != 1 {
					t.Error("two have it")
				}
				wins.Add(1)
				inside.Add(-1)
				release()
			}
		})
	}
	wg.Wait()
	if wins.Load() == 0 {
		t.Error("nobody ever had it")
	}
	leased(t, stores[1], "handoffs")()
}

func TestALeaseOfOneHomeIsNoneOfAnother(t *testing.T) {
	t.Parallel()
	one, other := newStore(t), newStore(t)
	defer leased(t, one, "handoffs")()
	leased(t, other, "handoffs")()
}

// A lease is held for months; a lock is waited for.
func TestALeaseIsNeverTheLockOfAStripe(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for stripe := range 256 {
		name := filepath.Base(stripeFile(byte(stripe)))
		if _, held, err := s.TryLease(name[:2]); held || !errors.Is(err, fs.ErrInvalid) {
			t.Fatalf("%q: %v, %v", name[:2], held, err)
		}
	}
	for _, name := range []string{"", "..", "a/b", "A", "x.lock"} {
		if _, held, err := s.TryLease(name); held || !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v, %v", name, held, err)
		}
	}
	defer leased(t, s, "handoffs")()
	for stripe := range 256 {
		l, err := s.tryFile(stripeFile(byte(stripe)))
		if l == nil || err != nil {
			t.Fatalf("stripe %d beside the lease: %v", stripe, err)
		}
		_ = l.Unlock()
	}
}

func TestAStoreForReadingGivesNoLease(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	openStore(t, h)
	s, err := OpenRead(h)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, held, err := s.TryLease("handoffs"); held || err == nil {
		t.Errorf("held %v, %v", held, err)
	}
	if err := (HandoffFiles{Store: s}).Confirm(); !errors.Is(err, errReadOnly) {
		t.Errorf("Confirm: %v", err)
	}
}
