package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/turn"
)

// turnJSON is one turn in the JSON of list, show and explain.
type turnJSON struct {
	Session      string       `json:"session"`
	Home         string       `json:"home"`
	Store        string       `json:"store"`
	Agent        string       `json:"agent"`
	AgentSession string       `json:"agent_session,omitempty"`
	Source       string       `json:"source,omitempty"`
	RequestID    string       `json:"request_id,omitempty"`
	Phase        string       `json:"phase"`
	Attempts     int          `json:"attempts"`
	StartedAt    time.Time    `json:"started_at"`
	LastSeen     time.Time    `json:"last_seen,omitzero"`
	Owner        ident.Ident  `json:"owner"`
	Verdict      string       `json:"verdict"`
	Why          string       `json:"why"`
	Keeper       *ident.Ident `json:"keeper,omitempty"`
	KeeperAlive  string       `json:"keeper_verdict"`
	Verified     bool         `json:"verified"`
	Decision     decisionJSON `json:"decision"`
	Waiting      *waitingJSON `json:"waiting,omitempty"` // by an order of its keeper's
}

type decisionJSON struct {
	Action  policy.Action `json:"action"`
	Reason  policy.Reason `json:"reason"`
	Text    string        `json:"text"`
	Remedy  string        `json:"remedy,omitempty"`
	Attempt int           `json:"attempt,omitempty"`
	At      time.Time     `json:"at,omitzero"`
}

func jsonOf(v turn.View) turnJSON {
	t := v.Turn
	j := turnJSON{
		Session: t.Session, Home: v.Home, Store: v.Store, Agent: t.Agent, AgentSession: t.AgentSession, Source: t.Source,
		RequestID: t.RequestID, Phase: t.Phase, Attempts: t.Attempts, StartedAt: t.StartedAt, LastSeen: t.LastSeen,
		Owner: t.Owner, Verdict: v.Owner.Verdict.String(), Why: v.Owner.Why, KeeperAlive: v.Keeper.Verdict.String(), Verified: t.Verified,
		Waiting: waitingJSONOf(v.Waiting),
		Decision: decisionJSON{
			Action: v.Decision.Action, Reason: v.Decision.Reason, Text: v.Decision.Reason.Text(),
			Remedy: remedy(v.Decision.Reason, t.Session, t.Agent), Attempt: v.Decision.Attempt, At: v.Decision.At,
		},
	}
	if !t.Reported() {
		j.Keeper = &t.Keeper
	}
	return j
}

func (a *app) turnListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the open turns, ours and Hermes's own",
		Long: `Lists the open turns of the home (of the root home: of all its profiles too), oldest first, with what is known about
their owner, what would happen to each now, and, of one that waits for a provider's limit or a back-off, until when.`,
		Example: `  hermes-supervisor turn list --json`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			r, err := a.read()
			if errors.Is(err, errNoHome) {
				return a.printTurns(nil, nil)
			}
			if err != nil {
				return err
			}
			defer r.Store.Close() //nolint:errcheck // a directory handle
			rooms, bad := a.siblings(r)
			var views []turn.View
			for _, room := range rooms {
				v, errs := room.List()
				views, bad = append(views, v...), append(bad, errs...)
			}
			return a.printTurns(views, bad)
		},
	}
}

// problem is the line of a record that a listing could not read; a broken one has been set aside on the way.
func problem(err error) string {
	line := oneLine(err)
	if corrupt, ok := errors.AsType[*fsstate.CorruptError](err); ok {
		if aside, _ := filepath.Glob(corrupt.Path + ".corrupt-*"); len(aside) > 0 {
			line += "; set aside as " + filepath.Base(aside[len(aside)-1])
		}
	}
	return line
}

// profileOf is the name of the profile that a home is, "" for the root home.
func profileOf(home string) string {
	if filepath.Base(filepath.Dir(home)) != "profiles" {
		return ""
	}
	return filepath.Base(home)
}

// printTurns prints what could be read, and one line for each thing that could not; the latter makes the exit code 74.
func (a *app) printTurns(views []turn.View, bad []error) error {
	for _, err := range bad {
		a.code = exitState
		if !a.json {
			a.say("%s", problem(err))
		}
	}
	if a.json {
		turns, problems := make([]turnJSON, 0, len(views)), make([]string, 0, len(bad))
		for _, v := range views {
			turns = append(turns, jsonOf(v))
		}
		for _, err := range bad {
			problems = append(problems, problem(err))
		}
		return a.printJSON(map[string]any{"turns": turns, "errors": problems})
	}
	rows := make([][]any, 0, len(views))
	for _, v := range views {
		waits, next := "", v.Decision.At
		if w := v.Waiting; w != nil {
			waits, next = string(w.Reason), w.At
		}
		rows = append(rows, []any{
			v.Turn.Session, profileOf(v.Home), v.Store, v.Turn.Agent, v.Turn.Phase, v.Turn.Attempts, v.Turn.StartedAt, v.Turn.LastSeen,
			v.Owner.Verdict.String(), fmt.Sprintf("%s: %s", v.Decision.Action, v.Decision.Reason), waits, next,
		})
	}
	return a.table([]string{"SESSION", "PROFILE", "STORE", "AGENT", "PHASE", "ATTEMPTS", "STARTED", "LAST SEEN", "OWNER", "DECISION", "WAITS", "NEXT TRY"}, rows)
}
