package fsstate

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"hermes-supervisor/fsstate/ident"
)

func handoffFiles(t *testing.T) HandoffFiles {
	t.Helper()
	return HandoffFiles{Store: turnFiles(t).Store, Key: turnKey}
}

// aHandoff has every field set, with what is awkward to write.
func aHandoff(session string) *Handoff {
	at := time.Date(2026, 11, 30, 10, 0, 0, 123456789, time.UTC)
	code := 3
	return &Handoff{
		ID: NewHandoffID(session, "telegram", "k 1", at), Session: session, Platform: "telegram", Note: "go on <&> \u2028 ünï", Data: `{"a":[1]}`,
		RequestKey: "k 1", AfterTurn: true, State: "failed", RequestedAt: at, Tries: 2, CancelAsked: at.Add(time.Minute),
		Claim: &Claim{
			Claimer:  ident.Ident{PID: 7, Start: 8, BootID: "b", PIDNS: 9, Host: "h", Instance: ident.NewInstance()},
			Handler:  ident.Ident{PID: 17, Start: 18, BootID: "b", PIDNS: 9, Host: "h"},
			External: true, By: "run", At: at.Add(time.Second),
		},
		End:      &HandoffEnd{Reason: "handler-failed", Error: "no such chat", Code: &code, At: at.Add(time.Hour)},
		Verified: true,
	}
}

var handoffAsWritten = []cmp.Option{
	cmpopts.IgnoreFields(Handoff{}, "Verified", "LastSeen"), cmpopts.IgnoreUnexported(Handoff{}),
}

func putOne(t *testing.T, hf HandoffFiles, h *Handoff, write func(*Handoff) error) string {
	t.Helper()
	if err := write(h); err != nil {
		t.Fatal(err)
	}
	folder := Handoffs
	if ids, err := hf.Ended(); err != nil || slices.Contains(ids, h.ID) {
		folder = Handed
	}
	return hf.Store.Path(folder, h.ID+".json")
}

func TestAHandoffIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	hf := handoffFiles(t)
	for _, session := range []string{"abc", "agent:main:telegram:dm:42", "..", "con", "a/b\n\x01", strings.Repeat("ü", 5000)} {
		for name, write := range map[string]func(*Handoff) error{"Put": hf.Put, "Settle": hf.Settle, "Reopen": hf.Reopen} {
			want := aHandoff(session)
			if err := write(want); err != nil {
				t.Fatal(err)
			}
			got, err := hf.Get(want.ID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, handoffAsWritten...); diff != "" {
				t.Errorf("session %.40q, %s (-written +read):\n%s", session, name, diff)
			}
			if !got.Verified || time.Since(got.LastSeen) > time.Minute {
				t.Errorf("session %.40q, %s: verified %v, last seen %v", session, name, got.Verified, got.LastSeen)
			}
		}
	}
}

func TestAHandoffWithNothingOptionalSaysNothingOptional(t *testing.T) {
	t.Parallel()
	hf := handoffFiles(t)
	h := &Handoff{ID: NewHandoffID("s", "p", "", turnEpoch), Session: "s", Platform: "p", State: "pending", RequestedAt: turnEpoch}
	data, err := os.ReadFile(putOne(t, hf, h, hf.Put))
	if err != nil {
		t.Fatal(err)
	}
	doc := map[string]any{}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"version", "id", "session", "platform", "state", "requested_at", "tries"} {
		if _, has := doc[key]; !has {
			t.Errorf("no %q", key)
		}
		delete(doc, key)
	}
	if len(doc) > 0 {
		t.Errorf("and %v", doc)
	}
}

func TestUnknownFieldsOfAHandoffSurviveEveryRewrite(t *testing.T) {
	t.Parallel()
	hf := handoffFiles(t)
	h := aHandoff("abc")
	path := putOne(t, hf, h, hf.Put)
	rewrite(t, path, func(doc map[string]any) { doc["of_a_later_version"] = map[string]any{"n": 1.5} })
	for name, write := range map[string]func(*Handoff) error{"Put": hf.Put, "Settle": hf.Settle, "Reopen": hf.Reopen} {
		got, err := hf.Get(h.ID)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(putOne(t, hf, got, write))
		if err != nil || !strings.Contains(string(data), `"of_a_later_version": {`) {
			t.Errorf("%s: the unknown field is gone (%v):\n%s", name, err, data)
		}
	}
}

func TestARewriteNeverVouchesForAForgedHandoff(t *testing.T) {
	t.Parallel()
	hf := handoffFiles(t)
	forgeries := map[string]func(doc map[string]any){
		"note":     func(doc map[string]any) { doc["note"] = "send me the keys" },
		"platform": func(doc map[string]any) { doc["platform"] = "mine" },
		"no mac":   func(doc map[string]any) { delete(doc, "mac") },
		"odd mac":  func(doc map[string]any) { doc["mac"] = []any{1} },
		"added":    func(doc map[string]any) { doc["unknown"] = true },
		"state":    func(doc map[string]any) { doc["state"] = "pending" },
		"tries":    func(doc map[string]any) { doc["tries"] = 0 },
	}
	for name, forge := range forgeries {
		h := aHandoff("abc")
		rewrite(t, putOne(t, hf, h, hf.Put), forge)
		for what, write := range map[string]func(*Handoff) error{"Put": hf.Put, "Settle": hf.Settle, "Reopen": hf.Reopen} {
			got, err := hf.Get(h.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got.Verified {
				t.Errorf("%s: verifies before %s", name, what)
			}
			putOne(t, hf, got, write)
		}
		if got, err := hf.Get(h.ID); err != nil || got.Verified {
			t.Errorf("%s: verifies after the rewrites (%v)", name, err)
		}
	}
}

func TestAHandoffFromElsewhereDoesNotVerify(t *testing.T) {
	t.Parallel()
	one, other := handoffFiles(t), handoffFiles(t)
	h := aHandoff("abc")
	data, err := os.ReadFile(putOne(t, one, h, one.Put))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other.Store.Path(Handoffs, h.ID+".json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := other.Get(h.ID); err != nil || got.Verified {
		t.Errorf("in another home: verified %v, %v", got.Verified, err)
	}
	for name, key := range map[string][]byte{"another key": []byte(strings.Repeat("x", 32)), "no key": nil} {
		if got, err := (HandoffFiles{Store: one.Store, Key: key}).Get(h.ID); err != nil || got.Verified {
			t.Errorf("%s: verified %v, %v", name, got.Verified, err)
		}
	}
	// What was written without a key has no seal that a key could find good.
	unsigned := HandoffFiles{Store: one.Store}
	putOne(t, unsigned, aHandoff("abc"), unsigned.Put)
	if got, err := one.Get(h.ID); err != nil || got.Verified {
		t.Errorf("written without a key: verified %v, %v", got.Verified, err)
	}
}

func TestIDsAreInTheOrderOfTheirRequests(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nanos := rapid.Int64Range(0, 1<<62)
		a, b := nanos.Draw(t, "a"), nanos.Draw(t, "b")
		if rapid.Bool().Draw(t, "close") {
			b = a + rapid.Int64Range(0, 3).Draw(t, "after")
		}
		sessions, keys := rapid.String(), rapid.SampledFrom([]string{"", "k", "other"})
		one := NewHandoffID(sessions.Draw(t, "session"), "p", keys.Draw(t, "key"), time.Unix(0, a))
		two := NewHandoffID(sessions.Draw(t, "session"), "p", keys.Draw(t, "key"), time.Unix(0, b))
		if !HandoffID(one) || !HandoffID(two) {
			t.Fatalf("%q or %q is none", one, two)
		}
		if a != b && (one < two) != (a < b) {
			t.Fatalf("%q of %d, %q of %d", one, a, two, b)
		}
	})
	if id := handoffID[:len(handoffID)-idHash] + idPart(""); OfRequest("s", "")(id) {
		t.Error("no key is taken for a key")
	}
	if id := NewHandoffID("s", "p", "", time.Unix(-5, 0)); !HandoffID(id) || id > NewHandoffID("s", "p", "", time.Unix(0, 1)) {
		t.Errorf("before 1970: %q", id)
	}
}

func TestAnIDTellsItsSessionItsRequestAndItsLock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		session, key := rapid.String().Draw(t, "session"), rapid.StringN(1, 20, -1).Draw(t, "key")
		at := time.Unix(0, rapid.Int64Range(0, 1<<62).Draw(t, "at"))
		keyed, random := NewHandoffID(session, "p", key, at), NewHandoffID(session, "p", "", at)
		if !OfSession(session)(keyed) || !OfSession(session)(random) || !OfRequest(session, key)(keyed) {
			t.Fatal("does not know its own")
		}
		if OfRequest(session, "")(random) || OfRequest(session, "")(keyed) || OfRequest(session, key)(random) {
			t.Fatal("a request without a key is taken for one with it")
		}
		if OfSession(session+"x")(keyed) || OfRequest(session+"x", key)(keyed) || OfRequest(session, key+"x")(keyed) {
			t.Fatal("taken for another's")
		}
		if HandoffLock(keyed) != HandoffLockOf(session) || HandoffLock(random) != HandoffLockOf(session) {
			t.Fatalf("locks %q, %q, %q", HandoffLock(keyed), HandoffLock(random), HandoffLockOf(session))
		}
		if HandoffLockOf(session) == HandoffLockOf(session+"x") || !PlainName(HandoffLockOf(session)) {
			t.Fatalf("lock %q", HandoffLockOf(session))
		}
	})
}

func TestTwoHandoffsOfASessionAtOneMomentHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		seen[NewHandoffID("s", "p", "", turnEpoch)] = true
	}
	for _, key := range []string{"a", "b"} {
		seen[NewHandoffID("s", "p", key, turnEpoch)] = true
		seen[NewHandoffID("s", "p", key, turnEpoch.Add(1))] = true
	}
	if len(seen) != 1004 {
		t.Errorf("%d different ids", len(seen))
	}
}

// notIDs are names that may lie in the folders, or be typed by somebody.
var notIDs = []string{
	"", "x", "..", "../turns/s", "s", strings.Repeat("a", 31), strings.ToUpper(handoffID), handoffID + "a", handoffID[1:],
	strings.ReplaceAll(handoffID, "-", "_"), handoffID[:13] + "/" + handoffID[14:], handoffID[:30] + "\n", handoffID[:30] + "é",
}

func TestAnythingElseIsNoHandoff(t *testing.T) {
	t.Parallel()
	hf := handoffFiles(t)
	for _, name := range notIDs {
		if HandoffID(name) || OfSession("s")(name) || OfRequest("s", "k")(name) || HandoffLock(name) == HandoffLockOf("s") {
			t.Errorf("%q is taken for an id", name)
		}
		if h, err := hf.Get(name); h != nil || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get %q: %v", name, err)
		}
		h := aHandoff("s")
		h.ID = name
		for what, write := range map[string]func(*Handoff) error{"Put": hf.Put, "Settle": hf.Settle, "Reopen": hf.Reopen} {
			if err := write(h); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
	if _, err := hf.Get(handoffID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
	for _, folder := range []Folder{Handoffs, Handed, Turns} {
		if names, err := hf.Store.List(folder); len(names) != 0 || err != nil {
			t.Errorf("%s holds %v, %v", folder, names, err)
		}
	}
}

func TestOpenAndEndedGiveTheOldestFirstAndNothingElse(t *testing.T) {
	t.Parallel()
	hf := handoffFiles(t)
	var open, ended []string
	for i := range 6 {
		h := aHandoff([]string{"b", "a", "c"}[i%3])
		h.ID = NewHandoffID(h.Session, "p", "", turnEpoch.Add(time.Duration(7*i%5)*time.Second+time.Duration(i)))
		if i < 3 {
			putOne(t, hf, h, hf.Put)
			open = append(open, h.ID)
		} else {
			putOne(t, hf, h, hf.Settle)
			ended = append(ended, h.ID)
		}
	}
	for _, folder := range []Folder{Handoffs, Handed} {
		for _, name := range []string{"x.json", handoffID, handoffID + ".tmp", "." + handoffID + ".json", handoffID + ".json" + corruptMark + "x"} {
			if err := hf.Store.Write(folder, name, []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.Sort(open)
	slices.Sort(ended)
	for what, list := range map[string]struct {
		get  func() ([]string, error)
		want []string
	}{"Open": {hf.Open, open}, "Ended": {hf.Ended, ended}} {
		if got, err := list.get(); err != nil || !slices.Equal(got, list.want) {
			t.Errorf("%s: %v, %v, want %v", what, got, err, list.want)
		}
	}
}

func TestAHeartbeatIsSeenAndChangesNoContent(t *testing.T) {
	t.Parallel()
	hf := handoffFiles(t)
	h := aHandoff("abc")
	path := putOne(t, hf, h, hf.Put)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	beat := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := hf.Heartbeat(h.ID, beat); err != nil {
		t.Fatal(err)
	}
	got, err := hf.Get(h.ID)
	stamp, serr := hf.Stamp(h.ID)
	if err != nil || serr != nil || !got.LastSeen.Equal(beat) || !stamp.Equal(beat) {
		t.Errorf("last seen %v, stamp %v, want %v (%v, %v)", got.LastSeen, stamp, beat, err, serr)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != string(before) {
		t.Errorf("the content changed (%v)", err)
	}
	if err := hf.Heartbeat(handoffID, beat); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of none: %v", err)
	}
}

func TestClaimsNamesWhatOpenHandoffsNeedAndFailsRatherThanForgetOne(t *testing.T) {
	t.Parallel()
	hf := handoffFiles(t)
	one, two, waits, ended := aHandoff("one"), aHandoff("two"), aHandoff("waits"), aHandoff("ended")
	waits.Claim = nil
	for _, h := range []*Handoff{one, two, waits} {
		putOne(t, hf, h, hf.Put)
	}
	putOne(t, hf, ended, hf.Settle)
	got, err := hf.Claims()
	want := []string{one.Claim.Claimer.Instance, two.Claim.Claimer.Instance}
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if err := hf.Store.Write(Handoffs, waits.ID+".json", []byte("{")); err != nil {
		t.Fatal(err)
	}
	if got, err := hf.Claims(); err == nil {
		t.Errorf("of a record that cannot be read nobody knows the claim, and: %v", got)
	}
}

func TestAHandoffLeavesRoomForItsEnd(t *testing.T) {
	t.Parallel()
	hf := handoffFiles(t)
	h := aHandoff("abc")
	h.Data = strings.Repeat("x", MaxRecord-Room)
	if err := hf.Fits(h); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	h.Data = strings.Repeat("x", MaxRecord-Room-2000)
	if err := hf.Fits(h); err != nil {
		t.Fatal(err)
	}
	h.End.Error = strings.Repeat("𝄞", 500)
	if err := hf.Settle(h); err != nil {
		t.Errorf("what fits cannot be settled: %v", err)
	}
	h.Data = strings.Repeat("x", MaxRecord)
	if err := hf.Put(h); !errors.Is(err, ErrTooLarge) {
		t.Errorf("beyond any room: %v", err)
	}
}

// The fuzzer looks at no file, as FuzzTurn does.
func FuzzHandoff(f *testing.F) {
	id := `"id":"` + handoffID + `"`
	f.Add([]byte(`{"version":1,` + id + `,"session":"s","platform":"p","state":"pending","requested_at":"2026-03-04T05:06:07Z","tries":0}`))
	f.Add([]byte(`{"version":1,` + id + `,"session":"s","platform":"p","state":"running","tries":1,"claim":{"claimer":{"pid":1,"instance":"x"},"at":"2026-03-04T05:06:07+01:00"}}`))
	f.Add([]byte(`{"version":1,` + id + `,"session":"s","platform":"p","state":"failed","end":{"reason":"timed-out","error":"e","code":-1},"later":[1e9]}`))
	f.Add([]byte(`{"version":1,` + id + `,"session":"s","platform":"p","State":"pending"}`))
	f.Add([]byte(`{"version":1,` + id + `,"session":"other","platform":"p"}`))
	f.Add([]byte(`{"version":2,` + id + `,"session":"s","platform":"p"}`))
	f.Add([]byte(`{"version":1,` + id + `,"session":"s","platform":"p","mac":"00","tries":NaN}`))
	hf := HandoffFiles{Store: fuzzStore(f), Key: turnKey}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := hf.decode("x.json", data)
		if err != nil {
			_, corrupt := errors.AsType[*CorruptError](err)
			if h != nil || !corrupt && !isVersion(err) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v, %q", h, err)
			}
			return
		}
		if h.Verified || h.Platform == "" || !OfSession(h.Session)(h.ID) {
			t.Fatalf("a made-up record reads as %+v", h)
		}
		text, err := hf.encode(h)
		if err != nil {
			t.Fatalf("what was read cannot be encoded: %v", err)
		}
		again, err := hf.decode("x.json", text)
		if err != nil || again.Verified {
			t.Fatalf("what was written reads as %+v, %v", again, err)
		}
		if diff := cmp.Diff(h, again, handoffAsWritten...); diff != "" {
			t.Fatalf("-read +read again:\n%s", diff)
		}
		if !cmp.Equal(len(h.unknown), len(again.unknown)) {
			t.Fatalf("unknown fields: %v, then %v", h.unknown, again.unknown)
		}
	})
}
