package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const patience = 60 * time.Second

// pair is a terminal and whoever sits at it.
type pair struct {
	master, terminal *os.File

	mu      sync.Mutex
	printed bytes.Buffer
}

func openPair(t *testing.T) *pair {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{master: master, terminal: terminal}
	t.Cleanup(func() { _, _ = master.Close(), terminal.Close() })
	return p
}

func (p *pair) read() {
	b := make([]byte, 4096)
	for {
		n, err := p.master.Read(b)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.printed.Write(b[:n])
		p.mu.Unlock()
	}
}

func (p *pair) sees(t *testing.T, text string) {
	t.Helper()
	p.seesAfter(t, 0, text)
}

// length is how much has been printed so far.
func (p *pair) length() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.printed.Len()
}

// seesAfter is sees of what was printed after so many bytes.
func (p *pair) seesAfter(t *testing.T, after int, text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		p.mu.Lock()
		found := strings.Contains(p.printed.String()[after:], text)
		p.mu.Unlock()
		if found {
			return
		}
	}
	t.Fatalf("%q was not printed", text)
}

// isRead waits until the program has taken all that was typed.
func (p *pair) isRead(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		waiting, err := unix.IoctlGetInt(int(p.terminal.Fd()), unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		if waiting == 0 {
			return
		}
	}
	t.Fatal("what was typed is not read")
}

func (p *pair) modes(t *testing.T) unix.Termios {
	t.Helper()
	modes, err := unix.IoctlGetTermios(int(p.terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *modes
}

// run is Run with what a panic of it said.
func (p *pair) run(ctx context.Context, o Options) <-chan any {
	ended := make(chan any, 1)
	o.In, o.Out = p.terminal, p.terminal
	if o.Read == nil {
		o.Read = func() (State, bool, error) { return sample(3), true, nil }
	}
	go func() {
		defer func() { ended <- recover() }()
		_, err := Run(ctx, o)
		if err != nil {
			panic(err)
		}
	}()
	return ended
}

func await(t *testing.T, ended <-chan any) any {
	t.Helper()
	select {
	case p := <-ended:
		return p
	case <-time.After(patience):
		t.Fatal("Run does not return")
		return nil
	}
}

func TestPanicGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	p := openPair(t)
	go p.read()
	before := p.modes(t)
	ended := p.run(t.Context(), Options{Explain: func(Row) ([]string, error) { panic("a fault") }})
	p.sees(t, "worker-000")
	if cmp.Equal(before, p.modes(t)) {
		t.Error("the terminal is as it was, and should not be")
	}
	_, _ = p.master.WriteString("e")
	if got := await(t, ended); fmt.Sprint(got) != "a fault" {
		t.Errorf("Run panics with %v", got)
	}
	p.sees(t, leaveScreen)
	if diff := cmp.Diff(before, p.modes(t)); diff != "" {
		t.Errorf("the terminal's modes (-before +after):\n%s", diff)
	}
}

func TestTerminalThatTakesNothingHoldsUpNoEnd(t *testing.T) {
	t.Parallel()
	p := openPair(t) // nobody reads
	before := p.modes(t)
	ended := p.run(t.Context(), Options{})
	for range 200 { // far more than it holds
		_, _ = p.master.WriteString("\x0c")
		p.isRead(t) // a chunk for each
	}
	_, _ = p.master.WriteString("q")
	if got := await(t, ended); got != nil {
		t.Errorf("Run panics with %v", got)
	}
	if diff := cmp.Diff(before, p.modes(t)); diff != "" {
		t.Errorf("the terminal's modes (-before +after):\n%s", diff)
	}
}

// What has not changed is not written again; the view goes on while an order is carried out.
func TestOrdersDoNotBlockAndRestIsSilent(t *testing.T) {
	t.Parallel()
	p := openPair(t)
	go p.read()
	release := make(chan struct{})
	ended := p.run(t.Context(), Options{Give: func(_ context.Context, order string, row Row) (string, error) {
		<-release
		return row.Name + ": " + order + " done", nil
	}})
	p.sees(t, "worker-002")
	_, _ = p.master.WriteString("r")
	p.sees(t, "restart worker-000? y/n")
	_, _ = p.master.WriteString("y")
	p.sees(t, "worker-000: restart is ordered")
	_, _ = p.master.WriteString("?")
	p.sees(t, "draw anew")
	help := p.length()
	_, _ = p.master.WriteString("q")
	p.seesAfter(t, help, "worker-002") // the help is gone: its end draws everything
	close(release)
	p.sees(t, "worker-000: restart done")
	size := p.length()
	_, _ = p.master.WriteString("\x1b[A") // up, at the top: takes the answer away and is the last thing to change
	p.sees(t, "worker-000: restart done")
	_, _ = p.master.WriteString("q")
	await(t, ended)
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.printed.Len() - size; n > 1000 {
		t.Errorf("%d bytes for one line: %q", n, p.printed.String()[size:])
	}
}

// A state that cannot be read for a while is no empty one.
func TestWhatWasReadStaysWhileNothingCanBeRead(t *testing.T) {
	t.Parallel()
	p := openPair(t)
	go p.read()
	answers := []error{nil, errors.New("it is being written"), nil, nil} // the first as the state, the others as no news
	calls := 0
	answered, over := make(chan struct{}), make(chan struct{})
	ended := p.run(t.Context(), Options{Read: func() (State, bool, error) {
		calls++
		if calls == 1 {
			return sample(3), true, nil
		}
		if calls > len(answers) {
			<-over
			return sample(2), true, nil
		}
		if calls == len(answers) {
			defer close(answered)
		}
		return State{}, false, answers[calls-1]
	}})
	p.sees(t, "worker-002")
	<-answered
	_, _ = p.master.WriteString("\x0c") // drawn anew
	p.sees(t, "not up to date")
	after := p.length()
	_, _ = p.master.WriteString("\x0c")
	p.seesAfter(t, after, "worker-002")
	p.seesAfter(t, after, "it is being written")
	after = p.length()
	close(over)
	p.seesAfter(t, after, "run (pid 4711)")
	_, _ = p.master.WriteString("q")
	await(t, ended)
}

func TestEndOfTheTerminalEndsIt(t *testing.T) {
	t.Parallel()
	p := openPair(t)
	ended := p.run(t.Context(), Options{})
	go p.read()
	p.sees(t, "worker-000")
	_ = p.master.Close()
	await(t, ended)
}
