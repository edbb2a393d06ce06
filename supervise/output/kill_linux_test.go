package output

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
)

func init() {
	programs["flood"] = flood
	programs["sweep"] = sweepForEver
}

// flood writes numbered lines to stdout and to stderr until its stdin ends.
func flood(args []string) int {
	enough := make(chan struct{})
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		close(enough)
	}()
	limit := must(strconv.Atoi(args[0]))
	var b bytes.Buffer
	for i, e := 0, 0; ; e++ {
		b.Reset()
		for range 1 + rand.IntN(400) {
			fmt.Fprintf(&b, "%d\n", i)
			i++
		}
		text := b.Bytes()
		for len(text) > 0 { // lines come in pieces
			n := min(1+rand.IntN(4096), len(text))
			if _, err := os.Stdout.Write(text[:n]); err != nil {
				return 1
			}
			text = text[n:]
		}
		fmt.Fprintf(os.Stderr, "%d\n", e)
		select {
		case <-enough:
		default:
			if i < limit {
				time.Sleep(time.Duration(rand.IntN(1500)) * time.Microsecond)
				continue
			}
			<-enough
		}
		return 0
	}
}

// sweepForEver is a supervisor that does nothing but sweep, until it is killed.
func sweepForEver(args []string) int {
	time.AfterFunc(patience, func() { os.Exit(99) })
	store := must(fsstate.Open(fsstate.Home{Path: args[0], Root: args[0]}, fsstate.Options{}))
	l := must(Open(store, service))
	l.segment = 8 << 10
	fmt.Fprintln(os.Stdout, "ready")
	for {
		if _, err := l.Sweep(64 << 20); err != nil { // nothing is dropped
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

// patience bounds every program: far beyond what a busy machine needs.
const patience = 4 * time.Minute

func program(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, must(os.Executable()), args...)
	cmd.Env = append(os.Environ(), programVar+"="+name, "GORACE=atexit_sleep_ms=0")
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// counter checks that numbered lines come once each and in order, from 0 on, and "end" after them.
type counter struct {
	next int // the number that is due; -1: any
	part []byte
	bad  string // the first line that is not the one that is due
}

func (c *counter) take(b []byte) {
	c.part = append(c.part, b...)
	for c.bad == "" {
		line, rest, whole := bytes.Cut(c.part, []byte("\n"))
		if !whole {
			return
		}
		n, err := strconv.Atoi(string(line))
		if err != nil || n != c.next && c.next >= 0 {
			c.bad = string(line)
			return
		}
		c.next, c.part = n+1, rest
	}
}

// counters are those of both streams.
type counters struct{ of map[Stream]*counter }

func newCounters() counters { return counters{map[Stream]*counter{Out: {}, Err: {}}} }

func (c counters) emit(s Stream, b []byte) error { c.of[s].take(b); return nil }

func (c counters) String() string {
	return fmt.Sprintf("out %d then %q, err %d then %q", c.of[Out].next, c.of[Out].bad, c.of[Err].next, c.of[Err].bad)
}

// TestSupervisorKilledAtRandomTimesLosesNoLine floods while processes that sweep are killed, and is followed all the time.
func TestSupervisorKilledAtRandomTimesLosesNoLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	child := program(t, "flood", "200000")
	child.Stdout, child.Stderr = w.f[0], w.f[1]
	stdin := must(child.StdinPipe())
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	followed, ended, arrived := newCounters(), make(chan error, 1), make(chan struct{}, 1)
	reader := must(OpenRead(w.log.store, service))
	go func() {
		ended <- reader.Follow(ctx, 1<<40, func(s Stream, b []byte) error {
			if followed.of[s].take(b); followed.of[Out].bad == "end" && followed.of[Err].bad == "end" {
				arrived <- struct{}{}
			}
			return nil
		})
	}()
	for range 30 {
		sweeper := program(t, "sweep", w.log.store.Home().Path)
		var said bytes.Buffer
		sweeper.Stderr = &said
		stdout := must(sweeper.StdoutPipe())
		if err := sweeper.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := stdout.Read(make([]byte, 8)); err != nil {
			t.Fatalf("sweeper: %v %s", err, said.String())
		}
		time.Sleep(time.Duration(rand.IntN(40_000)) * time.Microsecond) // a random time is the test
		_ = sweeper.Process.Kill()
		_ = sweeper.Wait()
		if said.Len() > 0 {
			t.Fatal(said.String())
		}
		all := newCounters()
		all.of[Out].next, all.of[Err].next = -1, -1
		if err := w.log.Tail(5000, all.emit); err != nil || all.of[Out].bad != "" || all.of[Err].bad != "" {
			t.Fatalf("%s, %v\n%v", all, err, w.files())
		}
	}
	stdin.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	w.write(Out, "end\n")
	w.write(Err, "end\n")
	select {
	case <-arrived:
	case <-time.After(patience):
		t.Fatal("what was written does not arrive")
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	all := newCounters()
	if err := w.log.Tail(1<<40, all.emit); err != nil || all.String() != followed.String() || all.of[Out].bad != "end" || all.of[Err].bad != "end" {
		t.Errorf("followed: %s; read back: %s, %v", followed, all, err)
	}
	w.log.segment = defaultSegment
	w.sweep(1 << 20)
	if kept := len(w.read(Out)) + len(w.read(Err)); kept > 1<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
	t.Log(followed)
}
