package queue

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// constants are the reasons that the source declares.
func constants(t *testing.T) map[Reason]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[Reason]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		literal, is := spec.Values[0].(*ast.BasicLit)
		if !is {
			t.Fatalf("%s is no word", spec.Names[0].Name)
		}
		word, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := declared[Reason(word)]; twice {
			t.Errorf("%s and %s are the same word", spec.Names[0].Name, other)
		}
		declared[Reason(word)] = spec.Names[0].Name
		return true
	})
	if len(declared) < 20 {
		t.Fatalf("only %d reasons found", len(declared))
	}
	return declared
}

func TestEveryReasonHasItsWords(t *testing.T) {
	t.Parallel()
	declared := constants(t)
	texts := map[string]Reason{}
	for _, r := range Reasons() {
		if _, is := declared[r]; !is {
			t.Errorf("%q has a text and is no constant", r)
		}
		delete(declared, r)
		text := r.Text()
		if other, twice := texts[text]; twice {
			t.Errorf("%q and %q have the same text", r, other)
		}
		texts[text] = r
		if text == "" || text == string(r) {
			t.Errorf("%q has no text", r)
		}
		if strings.ContainsAny(text, "\n\r\t") || strings.HasSuffix(text, ".") || strings.TrimSpace(text) != text || len(text) > 160 {
			t.Errorf("%q: not one plain line: %q", r, text)
		}
		if strings.Trim(string(r), "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("%q is not lower case with hyphens", r)
		}
	}
	for r, name := range declared {
		t.Errorf("%s (%q) has no text", name, r)
	}
}

func TestAWordThatIsNoReasonIsItsOwnText(t *testing.T) {
	t.Parallel()
	if r := Reason("of-a-newer-version"); r.Text() != string(r) || r.MayBeDelivered() {
		t.Errorf("Text %q, MayBeDelivered %v", r.Text(), r.MayBeDelivered())
	}
}

// byKeepers are the reasons of a keeper, which knows more closely why it failed, or what the queue says on its own.
var byKeepers = map[Reason]bool{ReasonNotStarted: true, ReasonTimedOut: true, ReasonShutdown: true, ReasonGaveUp: true}

func TestEveryReasonIsGivenBySomething(t *testing.T) {
	t.Parallel()
	given := map[Reason]bool{}
	for state := range pairs {
		for _, event := range Events() {
			for first := range changes {
				for second := range changes {
					f := example(state)
					changes[first](&f)
					changes[second](&f)
					given[Next(f, event).Reason] = true
				}
			}
		}
	}
	given[Next(Facts{}, Claim).Reason] = true
	ready := Facts{State: Pending, Verified: true, Served: true}
	given[Hold(ready, false)], given[Hold(ready, true)] = true, true
	for bits := range 1 << 6 {
		on := func(n int) bool { return bits>>n&1 == 1 }
		_, r := Admit(RequestFacts{Known: on(0), SameKey: on(1), SameAsked: on(2), OtherOpen: on(3), TurnOpen: on(4), AfterTurn: on(5)})
		given[r] = true
	}
	for _, r := range Reasons() {
		if given[r] == byKeepers[r] {
			t.Errorf("%q: given %v, by a keeper %v", r, given[r], byKeepers[r])
		}
	}
}

// mayBeDelivered are the failures after which a second delivery might be one too many.
var mayBeDelivered = map[Reason]bool{ReasonClaimerDied: true, ReasonTimedOut: true, ReasonShutdown: true, ReasonDeliveryCancelled: true, ReasonGaveUp: true}

const anID = "0dd3kq8v5o1a0-0123456v-a1b2-abcdefgh"

// checkFailure holds for every failure, whatever the handler said.
func checkFailure(r Reason, id, detail string) (problem string) {
	got := Failure(r, id, detail)
	head, tail, told := strings.Cut(got, ". Try again with /handoff in the session, or `hermes-supervisor handoff retry "+id+"`")
	said := strings.HasSuffix(head, "; it may have been delivered, so look there first")
	switch {
	case utf8.RuneCountInString(got) > MaxError:
		return "is too long"
	case !utf8.ValidString(got):
		return "is not UTF-8"
	case strings.ContainsFunc(got, unicode.IsControl):
		return "has control characters"
	case !told || tail != "":
		return "does not end with how to retry"
	case head == "" || strings.TrimSpace(head) != head:
		return "says nothing, or has blanks around it"
	case said != mayBeDelivered[r]:
		return "is wrong about a delivery"
	case r != ReasonHandlerFailed && !strings.HasPrefix(got, r.Text()):
		return "does not begin with its reason"
	}
	return ""
}

func TestAFailureSaysWhatHappenedAndHowToRetryInFiveHundredCharacters(t *testing.T) {
	t.Parallel()
	details := map[string]string{
		"nothing":         "",
		"a word":          "no such chat",
		"a sentence":      "no such chat.",
		"blanks":          " \n\t ",
		"a dot":           ".",
		"several lines":   "Traceback:\n  File \"x\"\r\nKeyError: 'chat'\n",
		"multi-byte":      strings.Repeat("ü→𝄞", 400),
		"invalid UTF-8":   strings.Repeat("\xff\xfea", 400),
		"a cut character": "x\xe2\x82",
		"huge":            strings.Repeat("x", 1<<20),
		"huge blanks":     strings.Repeat(" ", 1<<16) + "x",
		"exactly full":    strings.Repeat("x", MaxError),
		"NUL and escapes": "\x00\x1b[2Jred\x1b[0m\u0085\u009b31m",
		"its own tail":    "; it may have been delivered. Try again with /handoff",
	}
	for _, r := range Reasons() {
		if r.MayBeDelivered() != mayBeDelivered[r] {
			t.Errorf("%q: may be delivered: %v", r, r.MayBeDelivered())
		}
		for name, detail := range details {
			if problem := checkFailure(r, anID, detail); problem != "" {
				t.Errorf("%s, %s: %s: %.600q", r, name, problem, Failure(r, anID, detail))
			}
		}
	}
}

func TestAFailureOfAnyDetail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(Reasons()).Draw(t, "reason")
		detail := rapid.OneOf(
			rapid.String(), rapid.StringN(300, 700, -1),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 1500), func(b []byte) string { return string(b) }),
		).Draw(t, "detail")
		if problem := checkFailure(r, anID, detail); problem != "" {
			t.Fatalf("%s: %q", problem, Failure(r, anID, detail))
		}
	})
}

func TestTheHandlersWordIsKeptAndOnlyItIsShortened(t *testing.T) {
	t.Parallel()
	const retry = ". Try again with /handoff in the session, or `hermes-supervisor handoff retry " + anID + "`"
	for _, tt := range []struct {
		reason       Reason
		detail, want string
	}{
		{ReasonHandlerFailed, "no such chat", "no such chat" + retry},
		{ReasonHandlerFailed, "no\n such\tchat. ", "no such chat" + retry},
		{ReasonHandlerFailed, "", "whoever delivered it reported a failure" + retry},
		{ReasonHandlerFailed, " \n", "whoever delivered it reported a failure" + retry},
		{ReasonNotStarted, "exec: not found", "the platform's command could not be started, so nothing was delivered: exec: not found" + retry},
		{ReasonClaimerDied, "", "whoever delivered it died; it may have been delivered, so look there first" + retry},
		{ReasonTimedOut, "sending…", "its delivery took too long and was ended: sending…; it may have been delivered, so look there first" + retry},
	} {
		if got := Failure(tt.reason, anID, tt.detail); got != tt.want {
			t.Errorf("%s of %q:\n%q, want\n%q", tt.reason, tt.detail, got, tt.want)
		}
	}
	for _, r := range Reasons() {
		got := Failure(r, anID, strings.Repeat("ü", 1000))
		if n := utf8.RuneCountInString(got); n != MaxError || !strings.Contains(got, "üü…") {
			t.Errorf("%s: %d characters: %q", r, n, got)
		}
	}
}

func TestThePromptOfAHandoff(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"Session a:b was handed over to this one.":                   Prompt("a:b", "", ""),
		"Session a:b was handed over to this one.\n\nnote":           Prompt("a:b", "note", ""),
		"Session a:b was handed over to this one.\n\n{\"x\":1}":      Prompt("a:b", "", `{"x":1}`),
		"Session % %s was handed over to this one.\n\nn %d\n\nd %v ": Prompt("% %s", "n %d", "d %v "),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
