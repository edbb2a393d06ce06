package policy

import (
	"embed"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// golden holds texts that people and agents read. A test that differs prints
// the whole new text.
//
//go:embed testdata/*.txt
var golden embed.FS

func wantGolden(t *testing.T, name, got string) {
	t.Helper()
	want, err := golden.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatalf("%v; the text is:\n%s", err, got)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s.txt (-want +got):\n%s\nthe text is:\n%s", name, diff, got)
	}
}

func table(checks []Check, d Decision) string {
	var b strings.Builder
	for _, c := range checks {
		mark := "no "
		if c.Holds {
			mark = "yes"
		}
		arrow := "  "
		if c.Decided {
			arrow = "->"
		}
		fmt.Fprintf(&b, "%s %s %s: %s\n", arrow, mark, c.Rule, c.Fact)
	}
	fmt.Fprintf(&b, "%s: %s\n", d.Action, d.Reason.Text())
	return b.String()
}

func TestExplainShowsEveryFactAndTheRuleThatDecided(t *testing.T) {
	t.Parallel()
	all := cut(func(f *Facts) {
		f.Phase = "sleeping\x1b[2J"
		f.NewerPrompt, f.StopRequested, f.LeaseHeld, f.Reported = true, false, true, true
		f.Paused = true
		f.Source = "cron"
		f.Keeper, f.Owner, f.OwnerWhy = LifeUnknown, LifeAlive, "witness is held"
		f.Settings.Enabled, f.AutoContinue, f.Verified, f.AgentKnown = false, false, false, false
		f.Settings.Freshness = 0 // else what rests is fresh
		f.Attempts = 5
		f.RetryAt = noon.Add(3 * time.Second)
		f.EndUnobserved = true
	})
	for _, tt := range []struct {
		golden string
		facts  Facts
	}{
		{"explain-continue", cut()},
		{"explain-everything-wrong", all},
		{"explain-everything-wrong-person", func() Facts { f := all; f.By = Person; return f }()},
		{"explain-stopping", cut(func(f *Facts) { f.Phase = PhaseStopping; f.PausedUntil = noon.Add(time.Hour) })},
		{"explain-drained", cut(func(f *Facts) {
			f.Store, f.Reported, f.Unattended, f.Source = StoreHermes, true, true, "cli"
			f.Drained, f.OtherBoot, f.LastProof, f.BootedAt = true, true, noon.Add(-9*time.Hour), noon.Add(-90*time.Second)
		})},
		{"explain-future", cut(func(f *Facts) { f.LastProof = noon.Add(time.Hour) })},
		{"explain-no-proof", cut(func(f *Facts) { f.LastProof = time.Time{} })},
	} {
		t.Run(tt.golden, func(t *testing.T) {
			t.Parallel()
			wantGolden(t, tt.golden, table(Explain(tt.facts)))
		})
	}
}

// What an agent writes into a state file reaches the terminal of a person.
func TestExplainQuotesWhatComesFromAStateFile(t *testing.T) {
	t.Parallel()
	checks, _ := Explain(cut(func(f *Facts) { f.Phase, f.Source = "a\x1b]0;x\a", "b\r\nc\x1b[2J" }))
	for _, c := range checks {
		if strings.ContainsFunc(c.Fact, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("%s: control character in %q", c.Rule, c.Fact)
		}
	}
}
