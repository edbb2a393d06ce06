package service

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes-supervisor/policy/phase"
)

func TestExitMeetsItsRestartPolicy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		policy phase.Policy
		words  string
		want   phase.Phase
		why    phase.Reason
		code   int
		signal syscall.Signal
		line   string
	}{
		{"always comes back", phase.Always, "say x exit 0", phase.Starting, phase.ReasonRestarted, 0, 0, ""},
		{"a failure comes back", phase.OnFailure, "warn no-database exit 3", phase.Starting, phase.ReasonRestarted, 3, 0, "no-database"},
		{"a success does not", phase.OnFailure, "exit 0", phase.Stopped, phase.ReasonExited, 0, 0, ""},
		{"never", phase.Never, "warn first warn last say out exit 255", phase.Stopped, phase.ReasonCrashed, 255, 0, "last"},
		{"a failure that said it on stdout", phase.Never, "say only-this exit 1", phase.Stopped, phase.ReasonCrashed, 1, 0, "only-this"},
		{"75 asks for a restart", phase.Never, "exit 75", phase.Starting, phase.ReasonRestarted, 75, 0, ""},
		{"78 parks", phase.Always, "warn bad-config exit 78", phase.Parked, phase.ReasonParked, 78, 0, "bad-config"},
		{"a signal is a failure", phase.Never, "warn dying kill", phase.Stopped, phase.ReasonCrashed, 0, syscall.SIGTERM, "dying"},
		{"a kill comes back", phase.OnFailure, "kill", phase.Starting, phase.ReasonRestarted, 0, syscall.SIGKILL, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			words, dies := strings.CutSuffix(tc.words, "kill")
			if dies {
				words += "touch @up hold"
			}
			spec := w.script(words)
			spec.Settings.Policy = tc.policy
			spec.Settings.Delay, spec.Settings.MaxDelay = time.Hour, time.Hour // the first restart is at once, and no second one
			r := w.run(spec)
			if dies {
				w.appears("up")
				r.up()
				r.order(func(ctx ctx) error { return r.Signal(ctx, tc.signal) })
			}
			s := r.await(tc.want, tc.why)
			if s.Last == nil || !s.Last.Observed || s.Last.Launch != 1 || s.Last.Signal != int(tc.signal) || tc.signal == 0 && s.Last.Code != tc.code || s.Last.Reason != tc.line {
				t.Errorf("last %+v", s.Last)
			}
			if tc.want.Live() {
				return
			}
			if _, disk := w.record(); disk.Phase != tc.want || *disk.Last != *s.Last {
				t.Errorf("on disk %+v, last %+v", disk, disk.Last)
			}
			r.order(r.Start) // only an order brings it back
			r.await(phase.Starting, phase.ReasonOrdered)
		})
	}
}

// runFiles are the files in run/ that are not a supervisor's witness.
func (w *world) runFiles() []string {
	w.t.Helper()
	names, err := w.files.Store.List("run")
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(file string) bool { return strings.HasPrefix(file, w.self.Instance) })
}

func TestLaunchThatFailsSaysWhyAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		breaks func(*world, *Spec) error
		repair func(*world) error
		says   []string
	}{
		{
			"program missing", func(w *world, s *Spec) error { s.Command[0] = w.path("prog"); return nil },
			func(w *world) error { return os.Symlink(self(), w.path("prog")) },
			[]string{"prog", "no such file"},
		},
		{
			"program not executable", func(w *world, s *Spec) error {
				s.Command[0] = w.path("prog")
				return os.WriteFile(s.Command[0], []byte("#!/bin/sh\nexec sleep 60\n"), 0o600)
			},
			func(w *world) error { return os.Chmod(w.path("prog"), 0o700) },
			[]string{"prog", "permission denied"},
		},
		{
			"interpreter missing", func(w *world, s *Spec) error {
				s.Command[0] = w.path("prog")
				return os.WriteFile(s.Command[0], []byte("#!/no/such/shell\n"), 0o700)
			},
			func(w *world) error {
				return os.WriteFile(w.path("prog"), []byte("#!/bin/sh\nexec sleep 60\n"), 0o700)
			},
			[]string{"prog", "no such file"},
		},
		{
			"not a program", func(w *world, s *Spec) error {
				s.Command[0] = w.path("prog")
				return os.WriteFile(s.Command[0], []byte("x"), 0o700)
			},
			func(w *world) error {
				return os.WriteFile(w.path("prog"), []byte("#!/bin/sh\nexec sleep 60\n"), 0o700)
			},
			[]string{"prog", "exec format error"},
		},
		{
			"working directory missing", func(w *world, s *Spec) error { s.Dir = w.path("folder"); return nil },
			func(w *world) error { return os.Mkdir(w.path("folder"), 0o700) },
			[]string{"working directory", "folder", "no such file"},
		},
		{
			"working directory is a file", func(w *world, s *Spec) error {
				s.Dir = w.path("folder")
				return os.WriteFile(s.Dir, nil, 0o600)
			},
			func(w *world) error {
				_ = os.Remove(w.path("folder"))
				return os.Mkdir(w.path("folder"), 0o700)
			},
			[]string{"working directory", "folder", "not a directory"},
		},
		{
			"log folder unusable", func(w *world, s *Spec) error {
				if _, err := w.runner(*s, nil); err != nil { // it is made
					return err
				}
				w.broken = w.files.Store.Path("log", name)
				return nil
			},
			func(*world) error { return nil },
			[]string{"log", name},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			spec := w.script("hold")
			spec.Autostart = false
			if err := tc.breaks(w, &spec); err != nil {
				t.Fatal(err)
			}
			r := w.run(spec)
			r.order(r.Look) // it has the service
			mend := func() {}
			if w.broken != "" {
				mend = w.obstruct(w.broken)
			}
			r.order(r.Start)
			s := r.await(phase.Waiting, phase.ReasonBackOff, phase.ReasonCrashLoop)
			if s.Last == nil || s.Last.Code != -1 || !s.Last.Observed || !s.NextAt.After(s.Last.At) {
				t.Errorf("%+v, last %+v", s, s.Last)
			}
			for _, word := range tc.says {
				if !strings.Contains(s.Last.Reason, word) || strings.Contains(s.Last.Reason, "\n") {
					t.Errorf("%q does not say %q", s.Last.Reason, word)
				}
			}
			s = r.awaitThat("8 tries", func(s phase.State) bool { return s.Restarts >= 8 })
			if files := w.runFiles(); len(files) > 6 { // of the last launch, of this one, and a spare
				t.Errorf("%d files in run/ after %d tries: %q", len(files), s.Restarts, files)
			}
			mend()
			if err := tc.repair(w); err != nil {
				t.Fatal(err)
			}
			r.up()
			r.down()
		})
	}
}

// obstruct puts a file in the place of a folder.
func (w *world) obstruct(folder string) (mend func()) {
	w.t.Helper()
	if err := os.Rename(folder, folder+".away"); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		w.t.Helper()
		// At once: a runner that tries again in between would make the folder itself.
		if err := unix.Renameat2(unix.AT_FDCWD, folder+".away", unix.AT_FDCWD, folder, unix.RENAME_EXCHANGE); err != nil {
			w.t.Fatal(err)
		}
		if err := os.Remove(folder + ".away"); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestServiceOutlivesADiskThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.script("touch @up hold")
	r := w.run(spec)
	r.up()
	w.appears("up")
	mend := w.obstruct(w.files.Store.Path("services", ""))
	if err := r.Restart(t.Context()); err == nil || !strings.Contains(err.Error(), "not on disk") {
		t.Errorf("an order that is not on disk: %v", err)
	}
	s := r.await(phase.Waiting)
	if !strings.Contains(s.Last.Reason, errNotRecorded.Error()) || len(w.alive()) > 0 {
		t.Errorf("last %+v, and these live: %v", s.Last, w.alive())
	}
	mend()
	r.await(phase.Running)
	w.until("it is recorded", func() bool { _, s := w.record(); return s.Phase == phase.Running })
	if rec, _ := w.record(); w.alive()[rec.Process.PID] != rec.Process.Instance {
		t.Errorf("%+v, and these live: %v", rec.Process, w.alive())
	}
}

func TestKillEndsAShutdownThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(w.script("hold"))
	r.up()
	mend := w.obstruct(w.files.Store.Path("services", ""))
	defer mend()
	r.order(r.Shutdown)
	r.await(phase.Stopped, phase.ReasonShutdown)
	r.order(r.Kill)
	select {
	case err := <-r.ended:
		if err != nil || len(w.alive()) > 0 {
			t.Errorf("%v, and these live: %v", err, w.alive())
		}
	case <-time.After(patience):
		t.Error("it waits for the disk")
	}
}

func TestWhatCouldNotBeRecordedIsRecordedOnceTheDiskWorksAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(w.script("hold"))
	r.up()
	mend := w.obstruct(w.files.Store.Path("services", ""))
	if err := r.Stop(t.Context()); err == nil {
		t.Error("a stop that is not on disk was confirmed")
	}
	r.await(phase.Stopped)
	mend()
	w.until("it is recorded", func() bool { _, s := w.record(); return s.Phase == phase.Stopped && !s.Up })
}

func TestNoStartIsUnrecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(w.script("hold"))
	pid := r.up()
	mend := w.obstruct(w.files.Store.Path("services", ""))
	if err := r.Stop(t.Context()); err == nil {
		t.Error("a stop that is not on disk was confirmed")
	}
	r.await(phase.Stopped)
	if err := r.Start(t.Context()); err == nil {
		t.Error("a start that is not on disk was confirmed")
	}
	if len(w.alive()) > 0 {
		t.Errorf("an unrecorded launch: %v", w.alive())
	}
	mend()
	if again := r.up(); again == pid {
		t.Error("not started again")
	}
}
