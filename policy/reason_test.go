package policy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEveryReasonHasItsWords(t *testing.T) {
	t.Parallel()
	seen := map[string]Reason{}
	for _, r := range Reasons() {
		text, remedy := r.Text(), r.Remedy()
		if other, twice := seen[text]; twice {
			t.Errorf("%q and %q have the same text", r, other)
		}
		if other, twice := seen["="+string(r)]; twice {
			t.Errorf("%q is listed twice", other)
		}
		seen[text], seen["="+string(r)] = r, r
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
}

func TestAWordThatIsNoReasonIsItsOwnText(t *testing.T) {
	t.Parallel()
	if r := Reason("of-a-newer-version"); r.Text() != "of-a-newer-version" || r.Remedy() != "" {
		t.Errorf("Text %q, Remedy %q", r.Text(), r.Remedy())
	}
}

// What holds work back and can be changed has to say how.
func TestWhatHoldsBackNamesItsRemedy(t *testing.T) {
	t.Parallel()
	none := map[Reason]bool{ReasonConcluded: true, ReasonNewerPrompt: true} // nothing need be done
	for _, o := range obstacles {
		if r := o.want.Reason; r.Remedy() == "" && !none[r] {
			t.Errorf("%q holds back and names no remedy", r)
		}
	}
}

// A reason that nothing can give would be a line of the manual that is wrong.
func TestEveryReasonIsGivenBySomething(t *testing.T) {
	t.Parallel()
	given := map[Reason]bool{ReasonCleared: true, ReasonTaken: true} // what the callers do
	facts, admits := rapid.Custom(drawFacts), rapid.Custom(drawAdmit)
	for seed := range 4_000 {
		given[Decide(facts.Example(seed)).Reason] = true
		_, r := Admit(admits.Example(seed))
		given[r] = true
	}
	for code := range 256 {
		for _, e := range []ExitFacts{
			{Code: code},
			{Code: code, Signaled: true, Signal: code},
			{Code: code, BeginEvent: true},
			{Code: code, EndEvent: true},
			{Code: code, BusyEvent: true},
			{Code: code, RateLimitEvent: true},
			{Code: code, UnknownSession: true},
			{Code: code, ErrorEvent: true},
			{Code: code, StopRequested: true},
			{Code: code, Draining: true},
			{Code: code, Stalled: true},
			{Code: code, CrashCodes: []int{code}},
			{Code: code, ConcludedCodes: []int{code}},
		} {
			_, r := ClassifyExit(e)
			given[r] = true
		}
	}
	for _, r := range Reasons() {
		if !given[r] {
			t.Errorf("%q is given by nothing", r)
		}
		delete(given, r)
	}
	for r := range given {
		t.Errorf("%q is given but not listed", r)
	}
}
