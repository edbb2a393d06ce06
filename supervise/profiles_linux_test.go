package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/phase"
)

func TestAProfileThatAppearsIsServedSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "svc")
	w.run()
	w.stands("svc", phase.Running)
	for _, name := range []string{"first", "second"} { // the first one makes the folder of profiles too
		h := w.appear(name)
		w.within(soon, name+" is served", func() bool { return w.noted(h, "svc", "start") == 1 })
		w.obeyed(h)
	}
}

func TestProfilesThatAppearTogetherAreAllServedSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "svc")
	w.appear("before")
	w.run()
	var homes []fsstate.Home
	for _, name := range []string{"a", "b", "c", "d", "before"} {
		homes = append(homes, w.appear(name))
	}
	w.within(soon, "all are served", func() bool {
		for _, h := range homes {
			if w.noted(h, "svc", "start") != 1 {
				return false
			}
		}
		return true
	})
}

func TestAProfileThatIsRemovedIsLetGo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		remove func(*testing.T, *world, fsstate.Home)
	}{
		{"deleted", func(t *testing.T, w *world, h fsstate.Home) {
			t.Helper()
			w.until("it is deleted, whatever is written there", func() bool { return os.RemoveAll(h.Path) == nil })
		}},
		{"moved away", func(t *testing.T, w *world, h fsstate.Home) {
			t.Helper()
			if err := os.Rename(h.Path, filepath.Join(w.Dir, "elsewhere")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "svc", "other")
			w.run()
			pid := w.stands("svc", phase.Running)
			h := w.appear("work")
			for starts := 1; starts <= 2; starts++ {
				for name := range w.Services {
					w.within(soon, "it is served", func() bool { return w.noted(h, name, "start") == starts })
				}
				w.obeyed(h)
				c.remove(t, w, h)
				for name := range w.Services {
					w.within(soon, "it is stopped", func() bool { return w.noted(h, name, "end") == starts })
				}
				w.within(soon, "nothing of it is open", func() bool { return !w.holds(h) })
				_ = os.RemoveAll(filepath.Join(w.Dir, "elsewhere"))
				w.appear("work") // once more, under the same name
			}
			if now := w.stands("svc", phase.Running); now != pid {
				t.Errorf("the service of the root home is pid %d, not %d", now, pid)
			}
		})
	}
}

func TestAProfileThatIsPutBackIsServedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "svc")
	w.run()
	h, elsewhere := w.appear("work"), filepath.Join(w.Dir, "elsewhere")
	w.within(soon, "it is served", func() bool { return w.noted(h, "svc", "start") == 1 })
	w.obeyed(h)
	if err := os.Rename(h.Path, elsewhere); err != nil {
		t.Fatal(err)
	}
	w.within(soon, "it is stopped", func() bool { return w.noted(h, "svc", "end") == 1 })
	w.within(soon, "nothing of it is open", func() bool { return !w.holds(h) })
	if err := os.Rename(elsewhere, h.Path); err != nil {
		t.Fatal(err)
	}
	w.within(soon, "it is served again", func() bool { return w.noted(h, "svc", "start") == 2 })
	w.obeyed(h)
}

// obeyed tells that an order to the service of a profile is carried out soon.
func (w *world) obeyed(h fsstate.Home) {
	w.t.Helper()
	store, err := fsstate.Open(h, fsstate.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer store.Close()
	files := fsstate.ServiceFiles{Store: store, Key: w.Key}
	w.until("its service is recorded", func() bool {
		rec, err := files.Get("svc")
		return err == nil && rec.Process.PID != 0
	})
	rec, err := files.Get("svc")
	if err != nil {
		w.t.Fatal(err)
	}
	o := fsstate.Order{Supervisor: rec.Supervisor.Instance, Op: OpSignal, Service: "svc", At: time.Now()}
	if a := w.answer(store, w.order(store, w.Key, o)); a.Error != "" {
		w.t.Errorf("answered with %+v", a)
	}
}

// holds tells whether this process has anything of a home open.
func (w *world) holds(h fsstate.Home) bool {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		file, _ := os.Readlink("/proc/self/fd/" + e.Name())
		if strings.HasPrefix(file, h.Path+"/") || strings.HasPrefix(file, h.Path+" (deleted)") || file == h.Path ||
			strings.HasPrefix(file, filepath.Join(w.Dir, "elsewhere")) {
			return true
		}
	}
	return false
}
