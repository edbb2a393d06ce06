package fsstate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// transitions are all durable changes that the store knows, and the rows of them that supervise makes of them.
var transitions = slices.Concat(turnTransitions, handoffTransitions)

var turnTransitions = []transition{
	{
		name: "open a new home, first turn", cold: true,
		steps: []func(w *world) error{opened, put(turnOf("s", PhaseIntended, 0))},
		seen: func(w *world) (int, error) {
			made, err := foldersThere(w)
			if err != nil || made == 0 {
				return 0, err
			}
			got, err := state(w, Turns, "s.json")
			n, err := history(got, err, "-", "intended 0")
			return 1 + n, err
		},
	},
	{
		name: "open a home that Hermes made, first turn", cold: true, long: true, spare: 1,
		prepare: func(w *world) error {
			d, err := w.p.open(w.p.root)
			if err != nil {
				return err
			}
			defer d.Close()
			return d.Mkdir("home", 0o700)
		},
		steps: []func(w *world) error{opened, put(turnOf("s", PhaseIntended, 0))},
		seen: func(w *world) (int, error) {
			made, err := foldersThere(w)
			if err != nil || made == 0 {
				return 0, err
			}
			got, err := state(w, Turns, "s.json")
			n, err := history(got, err, "-", "intended 0")
			return 1 + n, err
		},
	},
	{
		name:  "new witness",
		steps: []func(w *world) error{witness(1)},
		seen: func(w *world) (int, error) {
			there, err := witnessThere(w, 1)
			if there {
				return 1, err
			}
			return 0, err
		},
	},
	{
		name:  "put a new turn",
		steps: []func(w *world) error{put(turnOf("s", PhaseIntended, 0))},
		seen: func(w *world) (int, error) {
			got, err := state(w, Turns, "s.json")
			return history(got, err, "-", "intended 0")
		},
	},
	{
		name:    "put over an old turn",
		prepare: put(turnOf("s", PhaseRunning, 0)),
		steps:   []func(w *world) error{put(turnOf("s", PhaseRunning, 1)), put(turnOf("s", PhaseRunning, 2))},
		seen: func(w *world) (int, error) {
			got, err := state(w, Turns, "s.json")
			return history(got, err, "running 0", "running 1", "running 2")
		},
	},
	{
		name:    "delete",
		prepare: put(turnOf("s", PhaseRunning, 0)),
		steps:   []func(w *world) error{deleted},
		seen: func(w *world) (int, error) {
			got, err := state(w, Turns, "s.json")
			return history(got, err, "running 0", "-")
		},
	},
	{
		name:    "archive",
		prepare: put(turnOf("s", PhaseRunning, 1)),
		steps:   []func(w *world) error{archived},
		seen:    archivedThere,
	},
	{
		name:    "outcome, then delete",
		prepare: put(turnOf("s", PhaseConcluded, 0)),
		steps:   []func(w *world) error{outcome, deleted},
		seen: func(w *world) (int, error) {
			end, err := outcomeState(w)
			if err != nil {
				return 0, err
			}
			got, err := state(w, Turns, "s.json")
			return history(end+", "+got, err, "-, concluded 0", "success, concluded 0", "success, -")
		},
	},
	{
		name: "quarantine", repeated: true, // who finds the broken file there again moves it again
		prepare: func(w *world) error { return w.store.Write(Turns, "s.json", []byte("broken")) },
		steps: []func(w *world) error{func(w *world) error {
			_, _, err := w.store.Read(Turns, "s.json")
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil {
				_, err = w.store.Quarantine(Turns, "s.json", turnEpoch)
			}
			return err
		}},
		seen: func(w *world) (int, error) {
			where := ""
			for _, file := range []string{"s.json", "s.json.corrupt-20260304T050607.000000000Z"} {
				data, _, err := w.store.Read(Turns, file)
				switch {
				case err == nil:
					where += fmt.Sprintf("%s: %s ", file, data)
				case !errors.Is(err, fs.ErrNotExist):
					return 0, err
				}
			}
			return history(where, nil, "s.json: broken ", "s.json.corrupt-20260304T050607.000000000Z: broken ")
		},
	},
	{
		name: "load the key for the first time", cold: true, spare: 1,
		prepare: opened,
		steps: []func(w *world) error{func(w *world) error {
			key, err := loadKey(keyFolder(w), w.disk)
			w.key = key
			return err
		}},
		seen: func(w *world) (int, error) {
			d, err := w.p.open(keyFolder(w))
			if errors.Is(err, fs.ErrNotExist) {
				return 0, nil
			}
			if err != nil {
				return 0, err
			}
			defer d.Close()
			key, _, err := readKey(d, keyFolder(w))
			if errors.Is(err, fs.ErrNotExist) {
				return 0, nil
			}
			if err == nil && w.key != nil && !bytes.Equal(key, w.key) {
				err = errors.New("another key")
			}
			return 1, err
		},
	},
	{
		name: "a whole turn with one continuation", long: true,
		steps: []func(w *world) error{
			witness(1), witness(2), put(turnOf("s", PhaseIntended, 0)), put(turnOf("s", PhaseRunning, 0)),
			put(turnOf("s", PhaseIntended, 1)), put(turnOf("s", PhaseRunning, 1)),
			put(turnOf("s", PhaseConcluded, 1)), outcome, deleted,
		},
		seen: func(w *world) (int, error) {
			end, err := outcomeState(w)
			if err != nil {
				return 0, err
			}
			got, err := state(w, Turns, "s.json")
			n, err := history(end+", "+got, err, "-, -", "-, intended 0", "-, running 0", "-, intended 1", "-, running 1",
				"-, concluded 1", "success, concluded 1", "success, -")
			if err != nil {
				return 0, err
			}
			witnesses := 0
			for _, instance := range []int{1, 2} {
				there, err := witnessThere(w, instance)
				if err != nil {
					return 0, err
				}
				if there {
					witnesses++
				}
			}
			if n > 0 && witnesses < 2 {
				return 0, errors.New("a marker names a witness that is gone")
			}
			return n + witnesses, nil
		},
	},
	{
		name: "give up a turn, then begin another", long: true,
		prepare: put(turnOf("s", PhaseRunning, 1)),
		steps:   []func(w *world) error{archived, put(turnOf("s", PhaseIntended, 0))},
		seen: func(w *world) (int, error) {
			got, err := state(w, Turns, "s.json")
			if err == nil && got == "intended 0" {
				n, err := state(w, Ended, "s-20260304T050607.000000000Z.json")
				return history(n, err, "", "", "running 1")
			}
			return archivedThere(w)
		},
	},
	{
		name: "bring a turn back from ended/", long: true,
		prepare: func(w *world) error { return errors.Join(put(turnOf("s", PhaseRunning, 1))(w), archived(w)) },
		steps: []func(w *world) error{put(turnOf("s", PhaseIntended, 0)), func(w *world) error {
			return w.files().DropEnded("s-20260304T050607.000000000Z.json")
		}},
		seen: func(w *world) (int, error) {
			open, err := state(w, Turns, "s.json")
			if err != nil {
				return 0, err
			}
			ended, err := state(w, Ended, "s-20260304T050607.000000000Z.json")
			return history(open+", "+ended, err, "-, running 1", "intended 0, running 1", "intended 0, -")
		},
	},
	{
		name: "give up a turn that only Hermes's file held", long: true,
		steps: []func(w *world) error{put(turnOf("s", PhaseRunning, 1)), outcome, archived},
		seen:  givenUp,
	},
}
