package main

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hermes-supervisor/scripts/mockmodel"
)

// notePrefix begins every continuation's prompt.
const notePrefix = "[System note: Your previous turn was interrupted"

// expectEnd notes how a run ended: its code, and that the agent has told of the turn's end once.
func (t *trial) expectEnd(r *supervised, code int, last string) {
	t.expect(r.code == code, "exit "+strconv.Itoa(code), "exit %d", r.code)
	ends, err := countLines(r.stdout, last)
	if err != nil {
		t.expect(false, "readable output", "%v", err)
		return
	}
	t.expect(ends == 1, "1 line "+last, "the agent's word on the end: %d", ends)
}

// expectOutcome notes what the outcome file of a run says of the turn.
func (t *trial) expectOutcome(r *supervised, states ...string) {
	var outcome struct{ State, Reason string }
	data, err := os.ReadFile(r.result)
	if err == nil {
		err = json.Unmarshal(data, &outcome)
	}
	if err != nil {
		t.expect(false, "an outcome file", "%v", err)
		return
	}
	t.expect(slices.Contains(states, outcome.State), strings.Join(states, " or "), "%s: %s", outcome.State, outcome.Reason)
}

// countLines is how many lines of a file an expression matches.
func countLines(path, expression string) (int, error) {
	re, err := regexp.Compile(expression)
	if err != nil {
		return 0, err
	}
	data, err := os.ReadFile(path)
	count := 0
	for line := range strings.Lines(string(data)) {
		if re.MatchString(strings.TrimRight(line, "\r\n")) {
			count++
		}
	}
	return count, err
}

// given tells whether the model was given the prompt by the user, and no note.
func (t *trial) given(request mockmodel.Request) bool {
	return !request.Holds(notePrefix) && slices.ContainsFunc(request.Inputs, func(in mockmodel.Input) bool {
		return in.Role == "user" && (in.Text == t.prompt || t.agent.prompt == first && strings.HasPrefix(in.Text, t.prompt+"\n"))
	})
}

// expectPrompt notes whether the agent was given the prompt and nothing else.
func (t *trial) expectPrompt(request mockmodel.Request) {
	given := t.given(request)
	t.expect(given, "the prompt as it was given, without a note", "prompt unchanged in request %d: %t", request.N, given)
}

// expectNote notes whether a request is that of a continuation: told of the interruption, and given the original prompt.
func (t *trial) expectNote(request mockmodel.Request) {
	var note string
	for _, in := range request.Inputs {
		if at := strings.Index(in.Text, notePrefix); at >= 0 {
			note = in.Text[at:]
		}
	}
	t.expect(note != "", "an input with "+notePrefix, "note in request %d: %t", request.N, note != "")
	if note != "" {
		original := strings.Contains(note, "\n\n"+t.prompt) && strings.Count(note, t.prompt) == 1
		t.expect(original, "the original prompt, once, after a blank line", "original prompt in it: %t", original)
	}
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
		if !t.given(request) {
			t.expectPrompt(request)
		}
	}
	t.expectNote(last)
	if pairs := mockmodel.Overlapping(requests); len(pairs) > 0 {
		t.expect(false, "one model request at a time", "requests %d and %d were open at once", pairs[0][0].N, pairs[0][1].N)
		return
	}
	gap := last.Start.Sub(before[len(before)-1].End)
	t.expect(true, "", "it began %v after the one before was over", gap.Round(time.Millisecond))
}

// expectLaunches notes which launches of the agent were seen, by their attempts, and that no two lived at once.
func (t *trial) expectLaunches(seen sighting, attempts ...string) {
	t.expect(slices.Equal(seen.attempts, attempts), strings.Join(attempts, ", "), "attempts launched: %s", strings.Join(seen.attempts, ", "))
	t.expectAlone(seen)
}

// expectContinuation notes whether the agent was launched once more, and no two lived at once. One that had not written its
// session down yet is launched again, afresh, in the same attempt: when it writes is its own affair.
func (t *trial) expectContinuation(seen sighting) {
	if t.agent.forget && slices.Equal(seen.attempts, []string{"0", "1", "1"}) {
		t.expectLaunches(seen, "0", "1", "1")
		return
	}
	t.expectLaunches(seen, "0", "1")
}

// expectAlone notes whether two launches of the agent lived at once.
func (t *trial) expectAlone(seen sighting) {
	if seen.err != nil {
		t.expect(false, "no error", "watch the session: %v", seen.err)
		return
	}
	t.expect(len(seen.together) == 0, "never", "two at once in %d of %d samples", len(seen.together), seen.samples)
	if len(seen.together) > 0 {
		t.expect(false, "one launch", "at once: %v", seen.together[0])
	}
}

// expectClean notes whether the turn left nothing: no marker, only so much given up, no process, no traffic but the model's.
// The agent's own helpers (Codex has a shell describe itself) may be a moment behind it.
func (t *trial) expectClean(ctx context.Context, ended int) error {
	left := map[string]int{}
	for _, folder := range []string{"turns", "ended"} {
		records, err := t.records(folder)
		if err != nil {
			return err
		}
		left[folder] = len(records)
	}
	t.expect(left["turns"] == 0, "none", "markers left: %d", left["turns"])
	t.expect(left["ended"] == ended, strconv.Itoa(ended), "turns given up: %d", left["ended"])
	strays := slices.DeleteFunc(t.model.Strays(), func(s string) bool { return t.agent.stray != nil && t.agent.stray(s) })
	if len(strays) > 0 {
		t.expect(false, "none", "other requests: %s", strings.Join(strays, ", "))
	}
	return t.gone(ctx)
}
