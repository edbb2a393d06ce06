package supervise

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

// alive is this process under an instance whose witness it holds.
func alive(t *testing.T, store *fsstate.Store) ident.Ident {
	t.Helper()
	self, err := ident.Self(ident.NewInstance())
	if err != nil {
		t.Fatal(err)
	}
	witness, err := store.NewWitness(self.Instance, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = witness.Close() })
	return self
}

// A probe that does not find the run that lives has its container ended.
func TestRunIsNamedAgainWhatEverBecameOfItsName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := fsstate.Open(fsstate.Home{Path: dir, Root: dir}, fsstate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	path := store.Path("", fsstate.SupervisorFile)
	self := alive(t, store)
	named := func(what string) {
		t.Helper()
		info, err := nameRun(store, self)
		if r, readErr := store.Supervisor(); err != nil || readErr != nil || r.Supervisor != self {
			t.Errorf("%s: %v, %v, %+v", what, err, readErr, r.Supervisor)
		}
		if now, err := store.Stat("", fsstate.SupervisorFile); err != nil || now != info {
			t.Errorf("%s: %+v, the file is %+v, %v", what, info, now, err)
		}
	}
	named("none")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	named("ours")
	if again, err := os.ReadFile(path); err != nil || string(again) != string(before) {
		t.Errorf("it was written again: %s, %v", again, err)
	}
	for what, change := range map[string]func() error{
		"removed": func() error { return os.Remove(path) },
		"broken":  func() error { return os.WriteFile(path, []byte("{"), 0o600) },
		"a FIFO":  func() error { _ = os.Remove(path); return unix.Mkfifo(path, 0o600) },
		"a dead one's": func() error {
			dead := self
			dead.Instance, dead.Start = ident.NewInstance(), self.Start+1
			return store.PutSupervisor(fsstate.Supervisor{Supervisor: dead})
		},
		"ours, with another pid": func() error {
			other := self
			other.PID = -1
			return store.PutSupervisor(fsstate.Supervisor{Supervisor: other})
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		named(what)
	}
	first := alive(t, store)
	if err := store.PutSupervisor(fsstate.Supervisor{Supervisor: first}); err != nil {
		t.Fatal(err)
	}
	if info, err := nameRun(store, self); err != nil || info != (fsstate.Info{}) {
		t.Errorf("beside one that lives: %+v, %v", info, err)
	}
	if r, err := store.Supervisor(); err != nil || r.Supervisor != first {
		t.Errorf("it took the name of one that lives: %+v, %v", r.Supervisor, err)
	}
}
