package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"hermes-supervisor/scripts/mockmodel"
)

// notePrefix begins every continuation's prompt.
const notePrefix = "[System note: Your previous turn was interrupted"

// expectEnd notes how a run ended: its code, and the events that the agent printed. A run that prints of n launches of
// the agent has n thread.started; 0 leaves that open.
func (t *trial) expectEnd(r *supervised, code int, last string, n int) {
	t.expect(r.code == code, "exit "+strconv.Itoa(code), "exit %d", r.code)
	events, err := codexEvents(r.stdout)
	if err != nil {
		t.expect(false, "readable output", "%v", err)
		return
	}
	count := func(kind string) int {
		return len(slices.DeleteFunc(slices.Clone(events), func(e codexEvent) bool { return e.Type != kind }))
	}
	final := "nothing"
	if len(events) > 0 {
		final = events[len(events)-1].Type
	}
	t.expect(final == last && count(last) == 1, "one "+last+", at the end", "last of %d events %s", len(events), final)
	if n > 0 && count("thread.started") != n {
		t.expect(false, strconv.Itoa(n), "thread.started events: %d", count("thread.started"))
	}
	if outcome, err := os.ReadFile(r.result); err != nil {
		t.expect(false, "an outcome file", "%v", err)
	} else if !json.Valid(outcome) {
		t.expect(false, "JSON", "outcome file holds %q", outcome)
	}
}

// expectPrompt notes whether the agent was given the prompt and nothing else.
func (t *trial) expectPrompt(request mockmodel.Request) {
	exact := slices.Contains(request.Inputs, mockmodel.Input{Role: "user", Text: t.prompt}) && !request.Holds(notePrefix)
	t.expect(exact, "the prompt as it was given, without a note", "prompt unchanged in request %d: %t", request.N, exact)
}

// expectContinued notes whether the last of n model requests, and only that, is the continuation, and began after every
// other was over.
func (t *trial) expectContinued(requests []mockmodel.Request, n int) {
	t.expect(len(requests) == n, strconv.Itoa(n), "model requests: %d", len(requests))
	if len(requests) < 2 {
		return
	}
	before, last := requests[:len(requests)-1], requests[len(requests)-1]
	for _, request := range before {
		if exact := slices.Contains(request.Inputs, mockmodel.Input{Role: "user", Text: t.prompt}); !exact || request.Holds(notePrefix) {
			t.expectPrompt(request)
		}
	}
	noted := slices.IndexFunc(last.Inputs, func(in mockmodel.Input) bool { return strings.HasPrefix(in.Text, notePrefix) })
	t.expect(noted >= 0, "an input that begins "+notePrefix, "note in request %d: %t", last.N, noted >= 0)
	if noted >= 0 {
		original := strings.HasSuffix(last.Inputs[noted].Text, "\n\n"+t.prompt) && strings.Count(last.Inputs[noted].Text, t.prompt) == 1
		t.expect(original, "the original prompt, once, after a blank line", "original prompt in it: %t", original)
	}
	if pairs := mockmodel.Overlapping(requests); len(pairs) > 0 {
		t.expect(false, "one model request at a time", "requests %d and %d were open at once", pairs[0][0].N, pairs[0][1].N)
		return
	}
	gap := last.Start.Sub(before[len(before)-1].End)
	t.expect(true, "", "it began %v after the one before was over", gap.Round(time.Millisecond))
}

// expectLaunches notes which launches of the agent were seen, by their attempts, and that no two lived at once.
func (t *trial) expectLaunches(seen sighting, attempts ...string) {
	if seen.err != nil {
		t.expect(false, "no error", "watch the session: %v", seen.err)
		return
	}
	t.expect(slices.Equal(seen.attempts, attempts), strings.Join(attempts, ", "), "attempts launched: %s", strings.Join(seen.attempts, ", "))
	t.expect(len(seen.together) == 0, "never", "two at once in %d of %d samples", len(seen.together), seen.samples)
	if len(seen.together) > 0 {
		t.expect(false, "one launch", "at once: %v", seen.together[0])
	}
}

// expectClean notes whether the turn left nothing: no marker, nothing given up, no process, no traffic but the model's.
// The agent's own helpers (Codex has a shell describe itself) may be a moment behind it.
func (t *trial) expectClean(ctx context.Context) error {
	left := map[string]int{}
	for _, folder := range []string{"turns", "ended"} {
		records, err := t.records(folder)
		if err != nil {
			return err
		}
		left[folder] = len(records)
	}
	t.expect(left["turns"] == 0, "none", "markers left: %d", left["turns"])
	t.expect(left["ended"] == 0, "none", "turns given up: %d", left["ended"])
	if strays := t.model.Strays(); len(strays) > 0 {
		t.expect(false, "none", "other requests: %s", strings.Join(strays, ", "))
	}
	return t.gone(ctx)
}
