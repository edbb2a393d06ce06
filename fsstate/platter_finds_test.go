package fsstate

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The faults that a store may have, as disks that leave something out.

type withoutFolderSync struct{ disk }

func (withoutFolderSync) SyncDir(string) error { return nil }

type withoutFileSync struct{ disk }

func (withoutFileSync) Sync(*os.File) error { return nil }

// withoutOneSync leaves out the n-th sync of a folder.
type withoutOneSync struct {
	disk
	n     int
	count *int
}

func (d withoutOneSync) SyncDir(name string) error {
	if p, ok := d.disk.(*platterDisk); ok && strings.HasPrefix(p.dir, "..") {
		return nil // above the model
	}
	if *d.count++; *d.count == d.n {
		return nil
	}
	return d.disk.SyncDir(name)
}

// syncedAgain takes a second sync's word for what the first one could not write.
type syncedAgain struct{ disk }

func (d syncedAgain) Sync(f *os.File) error {
	if d.disk.Sync(f) == nil {
		return nil
	}
	return d.disk.Sync(f)
}

// renamedFirst gives a new version its name before its content.
type renamedFirst struct {
	disk
	file *os.File
	data []byte
}

func (d *renamedFirst) Write(f *os.File, data []byte) (int, error) {
	d.file, d.data = f, data
	return len(data), nil
}
func (d *renamedFirst) Sync(*os.File) error      { return nil }
func (d *renamedFirst) CloseFile(*os.File) error { return nil }

func (d *renamedFirst) Rename(from, to string) error {
	if err := d.disk.Rename(from, to); err != nil || d.file == nil {
		return err
	}
	return fill(d.disk, d.file, d.data)
}

func transitionNamed(t *testing.T, name string) transition {
	t.Helper()
	i := slices.IndexFunc(transitions, func(tr transition) bool { return tr.name == name })
	if i < 0 {
		t.Fatalf("no transition %q", name)
	}
	return transitions[i]
}

// found fails the test when an examination that had something to find found nothing.
func found(t *testing.T, e *exam, look func() error, want string) {
	t.Helper()
	if err := look(); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(e.problems, func(p string) bool { return strings.Contains(p, want) }) {
		t.Errorf("%s: not found: %q among %q", e.name, want, e.problems)
	}
}

const (
	lostAcknowledged = "were acknowledged"
	neitherOldNorNew = "neither old nor new"
)

func TestTheModelFindsAMissingFolderSync(t *testing.T) {
	t.Parallel()
	for _, tr := range transitions {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			e := newExam(t, tr, func(d disk) disk { return withoutFolderSync{d} })
			found(t, e, e.cut, lostAcknowledged)
		})
	}
}

// Each sync of a folder is needed for itself, by the step that makes it.
func TestTheModelFindsAnySingleMissingFolderSync(t *testing.T) {
	t.Parallel()
	for _, tr := range transitions {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			spare := 0
			for n := 1; ; n++ {
				e := newExam(t, tr, nil)
				if !e.leaveOut(t, n) {
					if n < 2 || spare != tr.spare {
						t.Errorf("%d of %d folder syncs can be left out, want %d", spare, n-1, tr.spare)
					}
					return
				}
				if len(e.problems) == 0 {
					spare++
				}
			}
		})
	}
}

// leaveOut leaves out the n-th sync of a folder and lets the power fail after its step; false: there are fewer.
func (e *exam) leaveOut(t *testing.T, n int) bool {
	t.Helper()
	w, err := e.begin()
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	count := 0
	w.wrap = func(d disk) disk { return withoutOneSync{d, n, &count} }
	if w.store != nil {
		w.store.disk = w.wrap(w.store.disk)
	}
	for i, step := range e.steps {
		if err := step(w); err != nil {
			t.Fatal(err)
		}
		if count >= n {
			e.lose(w, "", i+1, i+1)
			return true
		}
	}
	return false
}

func TestTheModelFindsAMissingFileSync(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"put a new turn", "put over an old turn", "new witness", "archive", "outcome, then delete", "load the key for the first time"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExam(t, transitionNamed(t, name), func(d disk) disk { return withoutFileSync{d} })
			found(t, e, e.cut, neitherOldNorNew)
		})
	}
}

func TestTheModelFindsARenameBeforeTheWrite(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"put a new turn", "put over an old turn", "archive", "load the key for the first time"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExam(t, transitionNamed(t, name), func(d disk) disk { return &renamedFirst{disk: d} })
			found(t, e, e.cut, neitherOldNorNew)
		})
	}
}

func TestTheModelFindsASyncThatIsTriedAgain(t *testing.T) {
	t.Parallel()
	e := newExam(t, transitionNamed(t, "put a new turn"), func(d disk) disk { return syncedAgain{d} })
	found(t, e, func() error { return e.fault(troubles[0]) }, neitherOldNorNew)
}

func TestTheModelFindsAMarkerThatGoesBeforeItsCopy(t *testing.T) {
	t.Parallel()
	tr := transitionNamed(t, "archive")
	tr.steps = []func(w *world) error{func(w *world) error {
		if err := w.files().Delete("s"); err != nil {
			return err
		}
		return w.files().write(Ended, endedFile(turnOf("s", PhaseRunning, 1)), turnOf("s", PhaseRunning, 1))
	}}
	e := newExam(t, tr, nil)
	found(t, e, e.cut, neitherOldNorNew)
}

func TestTheModelFindsAnEndThatIsRecordedBeforeThePromptIsOurs(t *testing.T) {
	t.Parallel()
	tr := transitionNamed(t, "give up a turn that only Hermes's file held")
	tr.steps = []func(w *world) error{outcome, archived, func(*world) error { return nil }}
	e := newExam(t, tr, nil)
	found(t, e, e.cut, neitherOldNorNew)
}

func TestTheModelFindsATemporaryFileThatStays(t *testing.T) {
	t.Parallel()
	e := newExam(t, transitionNamed(t, "put a new turn"), func(d disk) disk { return keptTmp{d} })
	found(t, e, func() error { return e.fault(troubles[0]) }, "left in tmp/")
}

// keptTmp keeps what a failed write left.
type keptTmp struct{ disk }

func (d keptTmp) Remove(name string) error {
	if strings.HasPrefix(name, string(Tmp)+"/") {
		return nil
	}
	return d.disk.Remove(name)
}
