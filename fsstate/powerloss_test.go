package fsstate

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"
)

// exam looks for moments at which a transition breaks its promise.
type exam struct {
	transition

	root     string
	start    image
	wrap     func(disk) disk
	rng      *rand.Rand
	looked   map[string]bool // images, by what was acknowledged
	problems []string
	images   int
}

// newExam examines a transition on a disk that wrap, where it is not nil, makes worse.
func newExam(t *testing.T, tr transition, wrap func(disk) disk) *exam {
	t.Helper()
	root := memoryDir(t)
	start, err := tr.first(root)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	return &exam{transition: tr, root: root, start: start, wrap: wrap, rng: rng, looked: map[string]bool{}}
}

// memoryDir is a folder in memory where the system has one: what is durable only the model knows, and a journal that
// other tests keep busy would make these wait.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "fsstate-") //nolint:usetesting // t.TempDir lies on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// begin is the world before the first step.
func (e *exam) begin() (*world, error) {
	if err := e.start.lay(e.root); err != nil {
		return nil, err
	}
	w, err := newWorld(e.root, e.wrap)
	if err != nil || e.cold {
		return w, err
	}
	return w, w.open(true)
}

func (e *exam) fail(format string, args ...any) {
	e.problems = append(e.problems, fmt.Sprintf(format, args...))
}

// cut lets the power fail at every operation, and once after the last.
func (e *exam) cut() error {
	for n := 1; ; n++ {
		w, err := e.begin()
		if err != nil {
			return err
		}
		w.p.plan(powerLoss, n)
		acked, err := e.run(w, 0)
		met := w.p.met()
		w.close()
		if err != nil && !met || err == nil && met && !e.quiet {
			return fmt.Errorf("power loss at operation %d: %w", n, err)
		}
		e.lose(w, fmt.Sprintf("power loss at operation %d", n), acked, acked)
		if !met {
			return nil
		}
	}
}

// lose looks at every state in which a power loss leaves the platter now. least is how many steps must be there.
func (e *exam) lose(w *world, when string, acked, least int) {
	for i, im := range w.p.images(e.rng, 6) {
		if key := fmt.Sprintf("%d %d %s", least, acked, im); e.looked[key] {
			continue
		} else {
			e.looked[key] = true
		}
		e.images++
		next, n, err := e.boot(w, im)
		switch {
		case err != nil:
			e.fail("%s, state %d: neither old nor new: %v", when, i, err)
		case n < least:
			e.fail("%s, state %d: %d steps were acknowledged, %d are there", when, i, least, n)
		case n > acked+1:
			e.fail("%s, state %d: %d steps were acknowledged, %d are there", when, i, acked, n)
		default:
			e.goOn(next, when, n)
		}
		if next != nil {
			next.close()
		}
	}
}

// goOn takes the remaining steps, as the next process does.
func (e *exam) goOn(w *world, when string, from int) {
	if err := e.reopen(w, from); err != nil {
		e.fail("%s: the store cannot be opened any more: %v", when, err)
		return
	}
	if _, err := e.run(w, from); err != nil {
		e.fail("%s: the next try: %v", when, err)
		return
	}
	e.swept(w, when)
	if n, err := e.look(w); err != nil || n != len(e.steps) {
		e.fail("%s: after the next try %d steps are there, %v", when, n, err)
	}
}

// reopen is the start of another process, which has the steps from the given one on before it.
func (e *exam) reopen(w *world, from int) error {
	w.close()
	if e.cold && from == 0 {
		return nil
	}
	return w.open(true)
}

func (e *exam) swept(w *world, when string) {
	if w.store == nil {
		return
	}
	err := w.store.SweepTmp(time.Now().Add(2 * staleTmp))
	if left, lerr := w.store.disk.ReadDir(string(Tmp)); err != nil || lerr != nil || len(left) > 0 {
		e.fail("%s: %d files are left in tmp/ (%v, %v)", when, len(left), err, lerr)
	}
}

// troubles are the faults that a running process must live through, and its own end.
var troubles = []trouble{
	{name: "EIO", err: syscall.EIO},
	{name: "EIO, though it was done", err: syscall.EIO, late: true},
	{name: "ENOSPC", err: syscall.ENOSPC},
	{name: "short write", err: io.ErrShortWrite},
	{name: "SIGKILL", err: errEnded, final: true},
}

// fault lets every operation fail, has it tried again, and then lets the power fail.
func (e *exam) fault(trouble trouble) error {
	for n := 1; ; n++ {
		when := fmt.Sprintf("%s at operation %d", trouble.name, n)
		w, err := e.begin()
		if err != nil {
			return err
		}
		w.p.plan(trouble, n)
		acked, err := e.run(w, 0)
		if !w.p.met() {
			w.close()
			return err
		}
		w.p.plan(trouble, 0)
		if err == nil && !e.quiet {
			e.fail("%s was not told", when)
		} else if err != nil && !errors.Is(err, trouble.err) {
			e.fail("%s: %v", when, err)
		}
		if visible, err := e.look(w); err != nil || visible < acked || visible > acked+1 {
			e.fail("%s: %d steps were acknowledged, %d are there, %v", when, acked, visible, err)
		}
		e.goOn(w, when, acked)
		w.close()
		least := len(e.steps)
		if e.repeated {
			least = acked
		}
		e.lose(w, when+", the next try, then power loss", len(e.steps), least)
	}
}

func (e *exam) all() error {
	if err := e.cut(); err != nil {
		return err
	}
	for _, trouble := range troubles {
		if e.long && !trouble.final {
			continue
		}
		if err := e.fault(trouble); err != nil {
			return fmt.Errorf("%s: %w", trouble.name, err)
		}
	}
	return nil
}

func TestPowerLossOrFaultAtAnyOperationLeavesTheOldOrTheNewState(t *testing.T) {
	t.Parallel()
	for _, tr := range transitions {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			e := newExam(t, tr, nil)
			if err := e.all(); err != nil {
				t.Fatal(err)
			}
			for i, problem := range e.problems {
				if i == 10 {
					t.Errorf("and %d more", len(e.problems)-i)
					break
				}
				t.Error(problem)
			}
			t.Logf("%d different states after a power loss", e.images)
			if e.images < 3 {
				t.Error("too few states to prove anything")
			}
		})
	}
}
