package doctor

import (
	"context"
	"fmt"
	"strings"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// key is what seals the records, nil where it cannot be read.
func (e Env) key() []byte {
	k, err := fsstate.ReadKey(e.Source.Dir)
	if err != nil || e.Source.Dir == "" {
		return nil
	}
	return k
}

// lookAtTurns: open turns that nobody but a person will go on with.
func lookAtTurns(_ context.Context, e Env) []Finding {
	var found []Finding
	open := 0
	for _, p := range e.used() {
		views, _ := p.Room.List() //nolint:contextcheck // bad records, which are the business of another check, are not set aside in a home that is open for reading
		for _, v := range views {
			open++
			d := v.Decision
			if v.Owner.Verdict == ident.Alive || v.Keeper.Verdict == ident.Alive {
				continue
			}
			waits := d.Action == policy.Keep && d.Reason != policy.ReasonNewerPrompt
			if d.Reason == policy.ReasonUnverified || d.Reason == policy.ReasonFromTheFuture || !waits && d.Action != policy.End {
				continue // each is said elsewhere, or goes on by itself
			}
			text := fmt.Sprintf("%sturn %s waits for a person: %s", e.at(p), key(v.Turn.Session), d.Reason.Text())
			found = append(found, warning(text, e.turnRemedy(p, d.Reason, v.Turn)))
		}
	}
	return orOK(bounded(found), "%s open, none waits for a person", count(open, "turn"))
}

// turnRemedy is the first command that the reason's own remedy names.
func (e Env) turnRemedy(p Place, reason policy.Reason, t *fsstate.Turn) string {
	_, rest, found := strings.Cut(reason.Remedy(), "`")
	command, _, closed := strings.Cut(rest, "`")
	if !found || !closed {
		return e.in(p, "explain", key(t.Session))
	}
	args := strings.Fields(command)
	for i, word := range args {
		if word == "KEY" {
			args[i] = key(t.Session)
		}
	}
	if args[0] == "turn" && args[1] == "resume" && t.Agent == "" && t.Kind != "" {
		args = append(args, "--agent", t.Kind)
	}
	line := e.in(p, args...)
	if args[0] == "turn" && args[1] == "resume" && t.Agent == "" && t.Kind == "" {
		line += " -- AGENT" // its command line is in no record
	}
	return line
}
