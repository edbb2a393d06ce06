package supervise

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/process"
)

func TestAServiceOfAKilledSupervisorIsTakenOverAtARescan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "shared")
	first := w.another()
	pid := w.stands("shared", phase.Running)
	w.Services = map[string]string{"early": "a"}
	third := w.another()
	w.stands("early", phase.Running)
	w.Services = map[string]string{"shared": "a", "early": "a", "own": "a"}
	w.Rescan = 300 * time.Millisecond
	second := w.another()
	second.hears("service shared: run by the supervisor with pid")
	w.stands("own", phase.Running)
	if err := third.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.until("the second runs what the third ran", func() bool { // so it has rescanned
		rec, _ := w.record("early")
		return rec.Supervisor.PID == second.PID()
	})
	if rec, _ := w.record("shared"); rec.Supervisor.PID != first.PID() {
		t.Fatalf("it is run by %d while %d lives", rec.Supervisor.PID, first.PID())
	}
	if err := first.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.await("the first is dead", first.Done())
	w.until("the second runs it", func() bool {
		rec, _ := w.record("shared")
		return rec.Supervisor.PID == second.PID()
	})
	if rec, s := w.record("shared"); rec.Process.PID != pid || s.Launch != 1 || s.Phase != phase.Running {
		t.Errorf("it is %s, launch %d, pid %d and not %d", s.Phase, s.Launch, rec.Process.PID, pid)
	}
	if a := w.answer(w.store, w.ask(OpStop, "shared", "shared")); a.Error != "" {
		t.Errorf("answered with %+v", a)
	}
	w.stands("shared", phase.Stopped)
	if starts, ends := w.noted(w.Home, "shared", "start"), w.noted(w.Home, "shared", "end"); starts != 1 || ends != 1 {
		t.Errorf("it was started %d times and ended %d times", starts, ends)
	}
	if n := strings.Count(second.said(), "service shared: run by the supervisor with pid"); n != 1 {
		t.Errorf("that another one runs it was said %d times", n)
	}
}

// TestWhatAnotherSupervisorRanIsPrintedOnceByTheOneThatTakesItOver: at each rescan it had found the service taken.
func TestWhatAnotherSupervisorRanIsPrintedOnceByTheOneThatTakesItOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "shared")
	first := w.another()
	w.stands("shared", phase.Running)
	w.Services = map[string]string{"early": "a"}
	third := w.another()
	w.stands("early", phase.Running)
	w.Services = map[string]string{"shared": "a", "early": "a", "own": "a"}
	w.Rescan, w.Foreground = 300*time.Millisecond, "shared"
	second := w.another()
	second.hears("service shared: run by the supervisor with pid")
	w.kill(third)
	w.until("the second has rescanned", func() bool {
		rec, _ := w.record("early")
		return rec.Supervisor.PID == second.PID()
	})
	w.kill(first)
	w.until("the second runs it", func() bool {
		rec, _ := w.record("shared")
		return rec.Supervisor.PID == second.PID()
	})
	printed := func() int { return strings.Count(second.said(), "printed: up\n") }
	n := 0
	for began := time.Now(); time.Since(began) < time.Second; { // far longer than it takes to look for output
		n++
		rec, _ := w.record("shared")
		if err := syscall.Kill(rec.Process.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		w.until("it runs again", func() bool {
			again, s := w.record("shared")
			return again.Process.PID != rec.Process.PID && s.Phase == phase.Running
		})
		w.until("it is printed", func() bool { return printed() >= n })
	}
	if got := printed(); got != n {
		t.Errorf("printed %d times after %d starts", got, n)
	}
}

func TestASupervisorWithNothingOfItsOwnSaysWhoRunsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "shared")
	w.another()
	w.stands("shared", phase.Running)
	second := w.another()
	second.hears("ended: service shared: run by the supervisor with pid")
	w.await("it has ended", second.Done())
}

// rival is a supervisor in a process of its own.
type rival struct {
	*process.Child

	w     *world
	heard noise
}

// another starts a supervisor of the world's home in another process, which is killed when the test ends.
func (w *world) another() *rival {
	w.t.Helper()
	text, err := json.Marshal(w.setup)
	if err != nil {
		w.t.Fatal(err)
	}
	r, out, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	child, err := host.Start(process.Spec{Argv: []string{self(), "supervisor", string(text)}, Stdout: out, Stderr: os.Stderr})
	if err != nil {
		w.t.Fatal(err)
	}
	one := &rival{Child: child, w: w}
	go func() {
		defer r.Close()
		for lines := bufio.NewScanner(r); lines.Scan(); {
			_, _ = one.heard.Write(append(lines.Bytes(), '\n'))
			_, _ = w.noise.Write(append(lines.Bytes(), '\n'))
		}
	}()
	w.t.Cleanup(func() { _ = child.Signal(syscall.SIGKILL); <-child.Done() })
	return one
}

func (r *rival) said() string { return r.heard.String() }

func (r *rival) hears(words string) {
	r.w.t.Helper()
	r.w.until("it says "+words, func() bool { return strings.Contains(r.said(), words) })
}

// kill ends a supervisor as a crash does.
func (w *world) kill(r *rival) {
	w.t.Helper()
	if err := r.Signal(syscall.SIGKILL); err != nil {
		w.t.Fatal(err)
	}
	w.await("the supervisor is dead", r.Done())
}
