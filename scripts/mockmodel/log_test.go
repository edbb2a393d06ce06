package mockmodel

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestOverlappingSeesTwoAgentsAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Script(Answer{}, Answer{Ending: Stall}, Answer{})
	for range 3 { // the second is still open when the third comes
		response := ask(t, s, prompt)
		if len(s.Requests()) != 2 {
			readEvents(t, response.body)
		}
	}
	waitState(t, s, 3, Completed)
	pairs := Overlapping(s.Requests())
	if len(pairs) != 1 || pairs[0][0].N != 2 || pairs[0][1].N != 3 {
		t.Errorf("overlapping pairs = %+v, want requests 2 and 3", pairs)
	}
}

func TestOverlappingByTime(t *testing.T) {
	t.Parallel()
	epoch := time.Unix(0, 0)
	at := func(start, end int) Request {
		r := Request{Start: epoch.Add(time.Duration(start))}
		if end > 0 {
			r.End = epoch.Add(time.Duration(end))
		}
		return r
	}
	for name, c := range map[string]struct {
		requests []Request
		want     int
	}{
		"one after the other":     {[]Request{at(1, 2), at(2, 3)}, 0},
		"one within the other":    {[]Request{at(1, 9), at(2, 3)}, 1},
		"logged the other way":    {[]Request{at(2, 3), at(1, 9)}, 1},
		"the first never ended":   {[]Request{at(1, 0), at(5, 6)}, 1},
		"the second has not yet":  {[]Request{at(1, 2), at(5, 0)}, 0},
		"three in a row and over": {[]Request{at(1, 4), at(3, 6), at(5, 8)}, 2},
	} {
		if got := len(Overlapping(c.requests)); got != c.want {
			t.Errorf("%s: %d pairs, want %d", name, got, c.want)
		}
	}
}

func TestWaitSaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Wait(ctx, "an answer", func([]Request) bool { return false })
	if !errors.Is(err, context.Canceled) || err.Error() != "wait for an answer at the mock model (no requests): context canceled" {
		t.Errorf("Wait: %v", err)
	}
}

func TestLastUserIsTheLastTextOfTheUser(t *testing.T) {
	t.Parallel()
	r := Request{Inputs: []Input{{"instructions", "a"}, {"user", "b"}, {"user", "c"}, {"assistant", "d"}, {"tool_result", "e"}}}
	if got := r.LastUser(); got != "c" {
		t.Errorf("LastUser = %q, want c", got)
	}
	if got := (Request{Inputs: []Input{{"instructions", "a"}}}).LastUser(); got != "" {
		t.Errorf("LastUser without a user = %q", got)
	}
}
