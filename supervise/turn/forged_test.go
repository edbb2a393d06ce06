//go:build linux

package turn

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
)

// forge rewrites the marker as an agent could, who can write the file and has no key: with a seal that does not hold.
func (h *home) forge() {
	h.Helper()
	data, err := os.ReadFile(h.markerPath())
	if err != nil {
		h.Fatal(err)
	}
	forged := bytes.Replace(data, []byte(`"mac": "`), []byte(`"mac": "00`), 1)
	if bytes.Equal(forged, data) {
		h.Fatal("the marker has no seal")
	}
	if err := os.WriteFile(h.markerPath(), forged, 0o600); err != nil {
		h.Fatal(err)
	}
	if h.mustTurn().Verified {
		h.Fatal("the forged marker verifies")
	}
}

func TestForgedRecordIsNotContinued(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(h *home, m *fsstate.Turn){
		"no seal":           func(h *home, m *fsstate.Turn) { m.Verified = false; h.put(m, testKey) },
		"another key":       func(h *home, m *fsstate.Turn) { h.put(m, []byte("another key")) },
		"an edited prompt":  func(h *home, _ *fsstate.Turn) { h.edit("prompt", "prompt of an agent's") },
		"another home's":    func(h *home, _ *fsstate.Turn) { h.putFromAnotherHome() },
		"a seal cut in two": func(h *home, _ *fsstate.Turn) { h.forge() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			m := h.interrupted("prompt", func(m *fsstate.Turn) {
				m.Cwd, m.RetryAt, m.Deferrals = "/", time.Now().Add(24*time.Hour), -1
			})
			forge(h, m)
			prompt := h.mustTurn().Prompt
			before := h.state()
			h.start(h.run("", "read")).want(Refused, policy.ReasonUnverified, 0)
			h.unchanged(before)
			if v, err := h.room.Show(theSession); err != nil || v.Decision.Reason != policy.ReasonUnverified {
				t.Errorf("decision %+v, %v", v.Decision, err)
			}
			// The same prompt from the person vouches for the prompt, and for nothing else that stands there.
			h.start(h.run(prompt, "read", "say", "@"+h.markerPath())).want(Concluded, policy.ReasonSucceeded, 0)
			h.wantContinuation(h.texts("prompt")[0], prompt)
			if seen := h.texts("said")[0]; !bytes.Contains([]byte(seen), []byte(`"cwd": "`+h.dir+`"`)) {
				t.Errorf("the forged folder was taken over: %s", seen)
			}
			h.ran(1)
		})
	}
}

func (h *home) put(m *fsstate.Turn, key []byte) {
	h.Helper()
	if err := (fsstate.TurnFiles{Store: h.room.Store, Key: key}).Put(m); err != nil {
		h.Fatal(err)
	}
}

func (h *home) edit(from, to string) {
	h.Helper()
	data, err := os.ReadFile(h.markerPath())
	if err == nil {
		err = os.WriteFile(h.markerPath(), bytes.Replace(data, []byte(`: "`+from+`"`), []byte(`: "`+to+`"`), 1), 0o600)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// putFromAnotherHome brings in a record that the same key sealed for another home.
func (h *home) putFromAnotherHome() {
	h.Helper()
	m := h.mustTurn()
	root := filepath.Join(h.dir, "another")
	if err := os.Mkdir(root, 0o700); err != nil {
		h.Fatal(err)
	}
	store, err := fsstate.Open(fsstate.Home{Path: root, Root: root}, fsstate.Options{})
	if err != nil {
		h.Fatal(err)
	}
	defer store.Close()
	if err := (fsstate.TurnFiles{Store: store, Key: testKey}).Put(m); err != nil {
		h.Fatal(err)
	}
	data, err := os.ReadFile(store.Path(fsstate.Turns, fsstate.Name(theSession)+".json"))
	if err == nil {
		err = os.WriteFile(h.markerPath(), data, 0o600)
	}
	if err != nil {
		h.Fatal(err)
	}
}

func TestNoRewriteVouchesForAForgedRecord(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	forged := func() {
		h.interrupted("prompt", func(m *fsstate.Turn) { m.Verified = false })
	}
	unverified := func(what string) {
		t.Helper()
		for _, m := range h.ended() {
			if m.Verified {
				t.Errorf("%s has made a forged record verified", what)
			}
			if err := h.room.files().DropEnded(m.File); err != nil {
				t.Fatal(err)
			}
		}
		if m := h.turn(); m != nil && m.Verified {
			t.Errorf("%s has made a forged record verified", what)
		}
	}
	forged()
	if _, err := h.room.Begin(t.Context(), Report{Session: "alias", RotatedFrom: theSession}); err != nil {
		t.Fatal(err)
	}
	unverified("a rotated key")

	forged()
	if _, err := h.room.Clear(t.Context(), theSession, false); err != nil {
		t.Fatal(err)
	}
	if len(h.ended()) != 1 {
		t.Fatal("clear kept nothing")
	}
	if _, err := h.room.restore(theSession); err == nil {
		t.Error("a forged record was brought back from ended/")
	}
	unverified("clear")

	forged()
	h.start(h.run("another prompt")).want(Concluded, policy.ReasonSucceeded, 0)
	if len(h.ended()) != 1 {
		t.Fatal("replaced, and nothing kept")
	}
	unverified("replacement")

	h.interrupted("prompt", func(m *fsstate.Turn) {
		m.Verified, m.Phase = false, fsstate.PhaseConcluded
		m.End = &fsstate.End{Reason: string(policy.ReasonSucceeded)}
		m.Receipt = &fsstate.Receipt{Pending: true}
	})
	c := h.run("")
	c.Request.Receipt = "false"
	h.start(c).want(Refused, policy.ReasonUnverified, 0) // an end that anyone may have written is not believed
	unverified("a receipt")

	forged()
	if in, err := h.room.Interrupt(t.Context(), theSession, time.Second); err != nil || !in.Ended {
		t.Errorf("interrupt: %+v, %v", in, err)
	}
	h.noMarker()
	unverified("interrupt")
}
