package fsstate

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// brokenHandoffs are contents that no version of this program wrote, or not this one. %s is the id; what the error says
// stands beside.
var brokenHandoffs = map[string]struct{ content, problem string }{
	"empty":             {"", "is empty"},
	"blanks":            {" \n\n", "is empty"},
	"NUL bytes":         {strings.Repeat("\x00", 512), "is not JSON"},
	"cut":               {`{"version":1,"id":"%s","session":"s","pla`, "is not JSON"},
	"twice":             {`{"version":1,"id":"%s","session":"s","platform":"p"}{"version":1}`, "trailing data"},
	"array":             {"[]", "is not an object"},
	"null":              {"null", "is not an object"},
	"NaN":               {`{"version":1,"id":"%s","session":"s","platform":"p","tries":NaN}`, "is not JSON"},
	"Infinity":          {`{"version":1,"id":"%s","session":"s","platform":"p","tries":-Infinity}`, "is not JSON"},
	"huge number":       {`{"version":1,"id":"%s","session":"s","platform":"p","tries":1e400}`, "cannot be decoded"},
	"fraction":          {`{"version":1,"id":"%s","session":"s","platform":"p","tries":1.5}`, "cannot be decoded"},
	"not UTF-8":         {`{"version":1,"id":"%s","session":"s","platform":"` + "\xff" + `"}`, "is not UTF-8"},
	"deep":              {`{"version":1,"id":"%s","session":"s","platform":"p","x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, "nested deeper"},
	"wrong types":       {`{"version":1,"id":"%s","session":7,"platform":"p"}`, "cannot be decoded"},
	"a list for claim":  {`{"version":1,"id":"%s","session":"s","platform":"p","claim":[]}`, "cannot be decoded"},
	"no time":           {`{"version":1,"id":"%s","session":"s","platform":"p","requested_at":"yesterday"}`, "cannot be decoded"},
	"a number for time": {`{"version":1,"id":"%s","session":"s","platform":"p","requested_at":1772600767}`, "cannot be decoded"},
	"no id":             {`{"version":1,"session":"s","platform":"p"}`, "names no session and platform, or not those of its id"},
	"no session":        {`{"version":1,"id":"%s","platform":"p"}`, "names no session"},
	"no platform":       {`{"version":1,"id":"%s","session":"s"}`, "names no session"},
	"another session":   {`{"version":1,"id":"%s","session":"other","platform":"p"}`, "not those of its id"},
	"another id":        {`{"version":1,"id":"` + otherHandoff + `","session":"s","platform":"p"}`, "is about handoff"},
	"a long id":         {`{"version":1,"id":"` + strings.Repeat("x", 5000) + `","session":"s","platform":"p"}`, "not those of its id"},
	"twisted key":       {`{"version":1,"id":"%s","session":"s","platform":"p","State":"pending"}`, "only in case"},
	"key twice":         {`{"version":1,"id":"%s","session":"s","platform":"p","platform":"q"}`, "twice"},
	"no version":        {`{"id":"%s","session":"s","platform":"p"}`, "has no version"},
	"odd version":       {`{"version":"1","id":"%s","session":"s","platform":"p"}`, "no whole number"},
	"a later version":   {`{"version":2,"id":"%s","session":"s","platform":"p"}`, "version 2"},
	"version 0":         {`{"version":0,"id":"%s","session":"s","platform":"p"}`, "version 0"},
}

var otherHandoff = NewHandoffID("s", "p", "other", turnEpoch)

// besides are a good open and a good ended handoff of the same session.
func besides(t *testing.T, hf HandoffFiles) (stillThere func()) {
	t.Helper()
	open, ended := aHandoff("s"), aHandoff("s")
	open.ID, ended.ID = NewHandoffID("s", "p", "", turnEpoch.Add(-time.Hour)), NewHandoffID("s", "p", "", turnEpoch.Add(time.Hour))
	putOne(t, hf, open, hf.Put)
	putOne(t, hf, ended, hf.Settle)
	return func() {
		t.Helper()
		for _, want := range []struct {
			id   string
			list func() ([]string, error)
		}{{open.ID, hf.Open}, {ended.ID, hf.Ended}} {
			ids, err := want.list()
			if err != nil || !slices.Contains(ids, want.id) {
				t.Errorf("the one beside is not listed: %v, %v", ids, err)
			}
			if h, err := hf.Get(want.id); err != nil || !h.Verified {
				t.Errorf("the one beside: %v", err)
			}
		}
	}
}

func TestABrokenHandoffIsToldAndBlocksNoOther(t *testing.T) {
	t.Parallel()
	for name, broken := range brokenHandoffs {
		for _, folder := range []Folder{Handoffs, Handed} {
			t.Run(name+" in "+string(folder), func(t *testing.T) {
				t.Parallel()
				hf := handoffFiles(t)
				stillThere := besides(t, hf)
				path := hf.Store.Path(folder, handoffID+".json")
				content := strings.ReplaceAll(broken.content, "%s", handoffID)
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				h, err := hf.Get(handoffID)
				corrupt, is := errors.AsType[*CorruptError](err)
				switch {
				case h != nil || !is && !isVersion(err) || is && corrupt.Path != path:
					t.Fatalf("%v, %v", h, err)
				case !strings.Contains(err.Error(), broken.problem) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000:
					t.Errorf("says %q", err)
				}
				stillThere()
				aside, err := hf.SetAside(folder, handoffID, turnEpoch)
				if err != nil || !strings.HasPrefix(aside, handoffID+".json"+corruptMark) {
					t.Errorf("set aside as %q, %v", aside, err)
				}
				if got, err := os.ReadFile(hf.Store.Path(folder, aside)); err != nil || string(got) != content {
					t.Errorf("a person finds %q, %v", got, err)
				}
				for what, list := range map[string]func() ([]string, error){"Open": hf.Open, "Ended": hf.Ended} {
					if ids, err := list(); err != nil || len(ids) != 1 {
						t.Errorf("%s after it was set aside: %v, %v", what, ids, err)
					}
				}
				stillThere()
			})
		}
	}
}

// An end that cannot be read is an end all the same: nothing is delivered because of what a power loss has left.
func TestAnEndThatCannotBeReadStillHidesItsOpenRecord(t *testing.T) {
	t.Parallel()
	hf := handoffFiles(t)
	for name, broken := range brokenHandoffs {
		putOne(t, hf, handoffOf("pending", 0), hf.Put)
		if err := os.WriteFile(hf.Store.Path(Handed, handoffID+".json"), []byte(strings.ReplaceAll(broken.content, "%s", handoffID)), 0o600); err != nil {
			t.Fatal(err)
		}
		if h, err := hf.Get(handoffID); h != nil || err == nil {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// What a sound record may look like, so that the table above is about what is broken in it.
func TestAStrangeHandoffIsReadAndDoesNotVerify(t *testing.T) {
	t.Parallel()
	hf := handoffFiles(t)
	for _, content := range []string{
		`{"version":1,"id":"%s","session":"s","platform":"p"}`,
		`{"version":1,"id":"%s","session":"s","platform":"p","state":"sleeping","tries":-5,"claim":null,"end":null}`,
		`{"version":1,"id":"%s","session":"s","platform":"../../etc","note":"\u0000\u001b[2J","claim":{"claimer":{"pid":-1,"instance":"../x"}}}`,
	} {
		content = strings.ReplaceAll(content, "%s", handoffID)
		if err := hf.Store.Write(Handoffs, handoffID+".json", []byte(content)); err != nil {
			t.Fatal(err)
		}
		if h, err := hf.Get(handoffID); err != nil || h.Verified || h.ID != handoffID {
			t.Errorf("%s: %+v, %v", content, h, err)
		}
		if !json.Valid([]byte(content)) {
			t.Errorf("%s is no JSON", content)
		}
	}
}
