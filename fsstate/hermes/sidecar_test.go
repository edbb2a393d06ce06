package hermes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// others are entries that a decode and encode would change, and that Hermes or a
// newer Hermes may write. Each is valid JSON; not each is a marker.
var others = []string{
	`"surrogate \ud800 key": {"prompt": "\ud83d lone \udc00", "started_at": 1764500000.0}`,
	`"lone prompt": {"prompt":"a\ud800b\u00e9","started_at":1796039000.100,"attempts":0,"auto_continue":true}`,
	`"numbers": {"prompt": "p", "started_at": 1.796039000E9, "attempts": 1.0, "big": 123456789012345678901234567890, "tiny": 1e-999, "exp": 1E+2, "zero": -0}`,
	`"unknown keys": {"notification_category": "diagnostic", "prompt": "p", "started_at": 1796039000, "turn_id": [1, {"a": null}], "writer_pid": 1}`,
	`"\u006bey": {"prompt": "p", "started_at": 1796039001, "PROMPT": "other case", "prompt": "last"}`,
	`"ws": { "prompt"	: "p" ,
  "started_at" : 1796039002 }`,
	`"slash\/": {"prompt": "a\/b", "started_at": 1796039003}`,
	`"text": "not an entry"`,
	`"null": null`,
	`"list": [1,2]`,
	`"number": 1e400`,
	`"wrong prompt": {"prompt": 5, "started_at": 1796039003}`,
	`"wrong start": {"prompt": "p", "started_at": "yesterday"}`,
	`"no start": {"prompt": "p"}`,
	`"wrong writer": {"prompt": "p", "started_at": 1796039003, "writer_pid": "812"}`,
}

func TestOtherEntriesSurviveARewriteByteForByte(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"compact":  "{" + strings.Join(others, ",") + "}",
		"python":   "{" + strings.Join(others, ", ") + "}",
		"indented": "\n{\n  " + strings.Join(others, ",\n  ") + "\n}\n",
		"bom":      "\ufeff{" + strings.Join(others, ", ") + "}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := homeWith(t, text)
			mustRecord(t, home, Marker{Session: "mine", Prompt: "p", StartedAt: 5})
			got := readAt(t, MarkersPath(home))
			want := "{" + strings.Join(others, ", ") + `, "mine": {"attempts":0,"prompt":"p","started_at":5,"auto_continue":false}}`
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after record:\n%s", diff)
			}
			mustClear(t, home, "mine", 5)
			if diff := cmp.Diff("{"+strings.Join(others, ", ")+"}", readAt(t, MarkersPath(home))); diff != "" {
				t.Errorf("after clear:\n%s", diff)
			}
		})
	}
}

func TestWrongTypedEntriesAreLeftOut(t *testing.T) {
	t.Parallel()
	home := homeWith(t, "{"+strings.Join(others, ", ")+"}")
	want := []string{"lone prompt", "numbers", "unknown keys", "key", "ws", "slash/"}
	got := mustRead(t, home)
	if diff := cmp.Diff(want, sessions(got), cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
		t.Error(diff)
	}
	for _, m := range got {
		if m.Session == "key" && m.Prompt != "last" {
			t.Errorf("prompt %q: names are exact and the last one wins, as in Python", m.Prompt)
		}
		if m.Session == "unknown keys" && (string(m.Extra["turn_id"]) != `[1, {"a": null}]` || len(m.Extra) != 2) {
			t.Errorf("extra: %q", m.Extra)
		}
	}
}

func TestMarkersAreOldestFirst(t *testing.T) {
	t.Parallel()
	home := homeWith(t, `{"c": {"prompt": "p", "started_at": 2}, "b": {"prompt": "p", "started_at": 1.5}, "a": {"prompt": "p", "started_at": 2}}`)
	if diff := cmp.Diff([]string{"b", "a", "c"}, sessions(mustRead(t, home))); diff != "" {
		t.Error(diff)
	}
}

func TestFieldsReadAsHermesReadsThem(t *testing.T) {
	t.Parallel()
	const base = `"prompt": "p", "started_at": 1796039000`
	for name, tc := range map[string]struct {
		fields string
		want   *Marker // nil: left out
	}{
		"bare":               {"", &Marker{AutoContinue: true}},
		"auto null is off":   {`, "auto_continue": null`, &Marker{}},
		"auto off":           {`, "auto_continue": false`, &Marker{}},
		"auto wrong":         {`, "auto_continue": 1`, nil},
		"attempts null":      {`, "attempts": null`, &Marker{AutoContinue: true}},
		"attempts negative":  {`, "attempts": -4`, &Marker{AutoContinue: true}},
		"attempts fraction":  {`, "attempts": 1.9`, &Marker{AutoContinue: true, Attempts: 1}},
		"attempts text":      {`, "attempts": "1"`, nil},
		"attempts endless":   {`, "attempts": 1e30`, nil},
		"writer":             {`, "writer_pid": 9, "writer_start_time": 1.5`, &Marker{AutoContinue: true, HasWriter: true, WriterPID: 9, WriterStart: 1.5}},
		"writer null":        {`, "writer_pid": null`, &Marker{AutoContinue: true}},
		"writer zero":        {`, "writer_pid": 0`, nil},
		"writer bool":        {`, "writer_pid": true`, nil},
		"writer start alone": {`, "writer_start_time": 1.5`, &Marker{AutoContinue: true}},
		"writer start wrong": {`, "writer_pid": 9, "writer_start_time": "x"`, nil},
		"start overflows":    {`, "started_at": 1e999`, nil},
		"start zero":         {`, "started_at": 0`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mustRead(t, homeWith(t, `{"s": {`+base+tc.fields+`}}`))
			var want []Marker
			if tc.want != nil {
				tc.want.Session, tc.want.Prompt, tc.want.StartedAt = "s", "p", 1796039000
				want = []Marker{*tc.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzMarkerFileIsSlicedWithoutLoss(f *testing.F) {
	f.Add([]byte("{" + strings.Join(others, ", ") + "}"))
	f.Add([]byte("\ufeff{}"))
	f.Add([]byte(`{"a": NaN}`))
	f.Add([]byte(`{"a":{},"a":{"prompt":"p","started_at":1}}x`))
	f.Add([]byte(strings.Repeat("[", 20000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseMarkers(data)
		if err != nil {
			return
		}
		again, err := parseMarkers(encodeMarkers(entries))
		if err != nil {
			t.Fatalf("what was written does not read: %v", err)
		}
		if diff := cmp.Diff(entries, again, cmp.AllowUnexported(entry{}), cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}
