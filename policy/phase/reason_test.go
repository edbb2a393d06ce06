package phase

import (
	"strings"
	"testing"
)

func TestEveryReasonHasItsWords(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range Reasons() {
		text, remedy := r.Text(), r.Remedy()
		if seen[text] || seen["="+string(r)] {
			t.Errorf("%q has the text of another, or is listed twice", r)
		}
		seen[text], seen["="+string(r)] = true, true
		if text == "" || text == string(r) {
			t.Errorf("%q has no text", r)
		}
		for _, s := range []string{text, remedy} {
			if strings.ContainsAny(s, "\n\r\t") || strings.HasSuffix(s, ".") || strings.TrimSpace(s) != s || len(s) > 160 {
				t.Errorf("%q: not one plain line: %q", r, s)
			}
		}
		if strings.Trim(string(r), "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("%q is not lower case with hyphens", r)
		}
	}
	if r := Reason("of-a-newer-version"); r.Text() != string(r) || r.Remedy() != "" {
		t.Errorf("a word that is no reason: Text %q, Remedy %q", r.Text(), r.Remedy())
	}
}

// What keeps a service down has to say how it comes up.
func TestWhatKeepsAServiceDownNamesItsRemedy(t *testing.T) {
	t.Parallel()
	for _, r := range Reasons() {
		down := r.ended() || r == ReasonNew || r == ReasonStopped || r == ReasonShutdown || r == ReasonParked ||
			r == ReasonBackOff || r == ReasonCrashLoop || r == ReasonOwnerUnknown
		if down != (r.Remedy() != "") {
			t.Errorf("%q: keeps it down %v, remedy %q", r, down, r.Remedy())
		}
	}
}
