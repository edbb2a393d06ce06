package service

import (
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/health"
)

// speaking is a service that tells its port.
func (w *world) speaking(port string) Spec {
	spec := w.script("say port=" + port + " hold")
	spec.Ready, spec.ReadyDeadline = &health.Probe{Output: regexp.MustCompile(`^port=(\d+)$`)}, patience
	return spec
}

func (w *world) told() string {
	rec, _ := w.record()
	told, _ := Told(w.files, rec.Process.Instance)
	return told
}

// Its supervisor died in the moment in which it said so. An earlier launch said something else at another place.
func TestWhatAnAdoptedServiceSaidAtItsStartIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kill(w.orphan(w.speaking("6")))
	w.orphan(w.speaking("7"))
	if told := w.told(); told != "7" {
		t.Fatalf("told %q", told)
	}
	rec, _ := w.record()
	if err := w.files.Store.Discard(fsstate.Run, rec.Process.Instance+toldSuffix); err != nil {
		t.Fatal(err)
	}
	w.rewrite(func(_ *fsstate.Service, s *phase.State) {
		s.Phase, s.Reason, s.ReadyAt = phase.Starting, phase.ReasonRestarted, time.Time{}
	})
	w.run(w.speaking("7")).await(phase.Running)
	w.until("it is known again", func() bool { return w.told() != "" })
	if told := w.told(); told != "7" {
		t.Errorf("told %q", told)
	}
}

// An agent can write in run/: the secret of a backend goes to the port that stands there.
func TestPortThatSomebodyElseWroteIsNotBelieved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.orphan(w.speaking("6"))
	rec, _ := w.record()
	sealed := sealTold(fsstate.ServiceFiles{Store: w.files.Store, Key: []byte("another")}, rec.Process.Instance+toldSuffix, "7")
	for _, text := range []string{"7", `{"version":1,"told":"7"}`, sealed} {
		if err := w.files.Store.Write(fsstate.Run, rec.Process.Instance+toldSuffix, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if told := w.told(); told != "" {
			t.Errorf("told %q by %s", told, text)
		}
	}
}

func TestEachLaunchHasASecretOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("hold")
	spec.SecretVar = "THE_SECRET"
	r := w.run(spec)
	seen := map[string]bool{}
	for i := range 2 {
		if i > 0 {
			r.order(r.Start)
		}
		pid := r.up()
		rec, _ := w.record()
		_, secret := Told(w.files, rec.Process.Instance)
		environ, err := os.ReadFile("/proc/" + itoa(pid) + "/environ")
		if err != nil || len(secret) != 64 || seen[secret] || !strings.Contains(string(environ), "THE_SECRET="+secret+"\x00") {
			t.Errorf("secret %q, %v", secret, err)
		}
		seen[secret] = true
		r.down()
	}
	r.order(r.Start)
	r.up() // the files of a launch go when no record names it
	w.until("the old secrets are gone", func() bool {
		n := 0
		for _, file := range w.runFiles() {
			if strings.HasSuffix(file, secretSuffix) {
				n++
			}
		}
		return n == 1
	})
}

var announced atomic.Int64

// counting is a notice that holds the process that it is told of still alive.
type counting struct{ t *testing.T }

func (c counting) Announce(_ string, leader ident.Ident) error {
	if ident.Check(leader) != ident.Alive {
		c.t.Errorf("announced when pid %d was gone", leader.PID)
	}
	announced.Add(1)
	return nil
}

func TestAStopIsAnnouncedOnceAndAnEndOfItsOwnIsNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("hold")
	spec.BeforeStop = counting{t}
	r := w.run(spec)
	w.kill(r.up())
	r.awaitThat("its restart", func(s phase.State) bool { return s.Phase == phase.Running && s.Launch == 2 })
	if n := announced.Load(); n != 0 {
		t.Errorf("announced %d times before any stop", n)
	}
	r.down()
	if n := announced.Load(); n != 1 {
		t.Errorf("announced %d times", n)
	}
}
