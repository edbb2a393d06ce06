package fsstate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

var turnEpoch = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// turnOf is a turn at a step of its life, large enough to be torn.
func turnOf(session, phase string, attempts int) *Turn {
	t := &Turn{
		Session: session, Phase: phase, Prompt: strings.Repeat("do this, ", 100), RequestID: "r1",
		Attempts: attempts, StartedAt: turnEpoch, Verified: true,
	}
	t.Keeper.Instance, t.Owner.Instance = instanceOf(1), instanceOf(2)
	if phase == PhaseConcluded {
		t.End = &End{Reason: "success", At: turnEpoch}
	}
	return t
}

func instanceOf(n int) string { return fmt.Sprintf("%032x", n) }

// state reads one record of a turn: what it says in a few words, "-" where there is none. What was not written as a
// whole does not verify.
func state(w *world, folder Folder, file string) (string, error) {
	t, err := w.files().Read(folder, file)
	if errors.Is(err, fs.ErrNotExist) {
		return "-", nil
	}
	if err != nil {
		return "", err
	}
	if !t.Verified {
		return "", fmt.Errorf("%s/%s does not verify", folder, file)
	}
	return fmt.Sprintf("%s %d", t.Phase, t.Attempts), nil
}

func outcomeState(w *world) (string, error) {
	o, err := w.files().Outcome("s", "r1")
	if err != nil || o == nil {
		return "-", err
	}
	return o.End.Reason, nil
}

// history finds a state among those that the steps leave, one after the other.
func history(got string, err error, states ...string) (int, error) {
	if err != nil {
		return 0, err
	}
	for i, s := range states {
		if s == got {
			return i, nil
		}
	}
	return 0, fmt.Errorf("state %q is none of %q", got, states)
}

func put(t *Turn) func(w *world) error {
	return func(w *world) error { again := *t; return w.files().Put(&again) }
}

func deleted(w *world) error { return w.files().Delete("s") }

func outcome(w *world) error {
	return w.files().PutOutcome(&Outcome{Session: "s", ID: "r1", End: End{Reason: "success", At: turnEpoch}, StartedAt: turnEpoch})
}

func archived(w *world) error {
	_, err := w.files().Archive(turnOf("s", PhaseRunning, 1), "stale", turnEpoch)
	return err
}

// opened opens the store as a command does; the folders are what it promises.
func opened(w *world) error { return w.open(true) }

func foldersThere(w *world) (int, error) {
	for _, folder := range folders {
		if _, err := w.store.disk.Lstat(string(folder)); errors.Is(err, fs.ErrNotExist) && folder != Locks {
			return 0, nil // a half made store is no store yet
		} else if err != nil && folder != Locks {
			return 0, err
		}
	}
	return 1, nil
}

// witness makes an instance's witness; a process that finds the name taken is another instance.
func witness(n int) func(w *world) error {
	return func(w *world) error {
		for try := 0; ; try++ {
			f, err := w.store.NewWitness(instanceOf(n+16*try), witnessText(n))
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			if err != nil {
				return err
			}
			return f.Close()
		}
	}
}

func witnessText(n int) []byte { return bytes.Repeat([]byte{byte('a' + n)}, 1000) }

// witnessThere tells whether instance n has its witness, whole, under any name that witness gives.
func witnessThere(w *world, n int) (bool, error) {
	for try := range 3 {
		data, _, err := w.store.Read(Run, instanceOf(n+16*try)+".in")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !bytes.Equal(data, witnessText(n)) {
			err = fmt.Errorf("witness %d is torn", n)
		}
		return true, err
	}
	return false, nil
}

func keyFolder(w *world) string {
	return filepath.Join(w.p.root, "home", "user", "config", "hermes-supervisor")
}

// archivedThere: while the marker is there, the copy in ended/ may be there too; never is there neither.
func archivedThere(w *world) (int, error) {
	ended, err := state(w, Ended, "s-20260304T050607.000000000Z.json")
	if err != nil {
		return 0, err
	}
	open, err := state(w, Turns, "s.json")
	n, err := history(open+", "+ended, err, "running 1, -", "running 1, running 1", "-, running 1")
	return n / 2, err
}

// givenUp: from the moment in which its end is recorded, Hermes's entry counts for nothing, so the prompt must be ours.
func givenUp(w *world) (int, error) {
	end, err := outcomeState(w)
	if err != nil {
		return 0, err
	}
	open, err := state(w, Turns, "s.json")
	if err != nil {
		return 0, err
	}
	ended, err := state(w, Ended, "s-20260304T050607.000000000Z.json")
	n, err := history(end+", "+open+", "+ended, err, "-, -, -", "-, running 1, -", "success, running 1, -", "success, running 1, running 1", "success, -, running 1")
	if n > 2 {
		n-- // the copy in ended/ is half a step
	}
	return n, err
}
