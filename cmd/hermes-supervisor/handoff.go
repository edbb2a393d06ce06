package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/turn"
)

func (a *app) handoffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "handoff",
		Short: "Hand sessions over to other platforms",
		Long: `A handoff is a request that a session goes on at another platform: pending, running while somebody delivers it, then
completed or failed. The platforms are those of [handoff.platform.NAME] in hermes.toml. run delivers what is pending, or
"handoff watch" alone.`,
		Example: `  hermes-supervisor handoff request agent:main:cli telegram --wait
  hermes-supervisor handoff list`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		DisableFlagsInUseLine: true,
	}
	cmd.AddCommand(a.handoffRequestCommand(), a.handoffListCommand(), a.handoffShowCommand(), a.handoffCancelCommand(),
		a.handoffRetryCommand(), a.handoffWatchCommand(), a.handoffDeliverCommand(), a.handoffClaimCommand(),
		a.handoffCompleteCommand(), a.handoffFailCommand(), a.handoffHeartbeatCommand())
	return cmd
}

// queueOf is the handoffs of an open home.
func (a *app) queueOf(r *room) *handoff.Queue {
	return &handoff.Queue{
		Files: fsstate.HandoffFiles{Store: r.Store, Key: r.Key}, Room: r.Room, Log: r.Log,
		Platform: func(name string) (handoff.Platform, error) { return platformOf(r.config, name) },
	}
}

// queuesOf are those of the home and, where it is the root, of every profile below it that has been used.
func (a *app) queuesOf(r *room) ([]*handoff.Queue, []error) {
	rooms, bad := a.siblings(r)
	queues := make([]*handoff.Queue, 0, len(rooms))
	for _, other := range rooms {
		queues = append(queues, a.queueOf(&room{config: r.config, Room: other}))
	}
	return queues, bad
}

// platformOf is what the configuration says of a platform.
func platformOf(cfg config.Config, name string) (handoff.Platform, error) {
	p, err := cfg.Platform(name)
	if err != nil {
		return handoff.Platform{}, err
	}
	return handoff.Platform{
		Command: p.Command, Session: p.Session, Agent: p.Agent, External: p.External,
		Timeout: time.Duration(p.Timeout), MaxConcurrent: p.MaxConcurrent,
	}, nil
}

func oneHandoff(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &turn.UsageError{Problem: fmt.Sprintf("%s takes one handoff, not %d", cmd.Name(), len(args))}
	}
	return nil
}

// handoffJSON is one handoff in the program's JSON.
type handoffJSON struct {
	ID          string              `json:"id"`
	Home        string              `json:"home"`
	Profile     string              `json:"profile,omitempty"`
	Session     string              `json:"session"`
	Platform    string              `json:"platform"`
	Key         string              `json:"key,omitempty"`
	AfterTurn   bool                `json:"after_turn,omitempty"`
	State       string              `json:"state"`
	Reason      queue.Reason        `json:"reason,omitempty"` // why it stands so
	Text        string              `json:"text,omitempty"`
	Remedy      string              `json:"remedy,omitempty"`
	RequestedAt time.Time           `json:"requested_at"`
	LastSeen    time.Time           `json:"last_seen,omitzero"`
	Tries       int                 `json:"tries"`
	Claim       *fsstate.Claim      `json:"claim,omitempty"`
	Verdict     string              `json:"claimer_verdict,omitempty"` // of a running one
	Why         string              `json:"claimer_why,omitempty"`
	CancelAsked time.Time           `json:"cancel_asked_at,omitzero"`
	End         *fsstate.HandoffEnd `json:"end,omitempty"`
	Verified    bool                `json:"verified"`
}

func handoffJSONOf(v handoff.View) handoffJSON {
	h := v.Handoff
	j := handoffJSON{
		ID: h.ID, Home: v.Home.Path, Profile: v.Home.Profile, Session: h.Session, Platform: h.Platform, Key: h.RequestKey,
		AfterTurn: h.AfterTurn, State: h.State, Reason: v.Reason, Text: v.Reason.Text(), Remedy: whatToDo(v),
		RequestedAt: h.RequestedAt, LastSeen: h.LastSeen, Tries: h.Tries, Claim: h.Claim, CancelAsked: h.CancelAsked, End: h.End,
		Verified: h.Verified,
	}
	if h.State == string(queue.Running) {
		j.Verdict, j.Why = v.Claimer.Verdict.String(), v.Claimer.Why
	}
	return j
}

// whatToDo is what a person may do about an open handoff, with its own words in the commands that it names. The error of
// one that has failed says it itself.
func whatToDo(v handoff.View) string {
	if !queue.State(v.State).Open() {
		return ""
	}
	return strings.NewReplacer("ID", v.ID, "PLATFORM", word(v.Platform), "KEY", word(v.Session)).Replace(v.Reason.Remedy())
}

// toldOf prints how a handoff stands; one that has failed makes the exit code 1.
func (a *app) toldOf(h *fsstate.Handoff, q *handoff.Queue) error {
	if h.State == string(queue.Failed) {
		a.code = exitFailed
	}
	return a.printHandoff(h, q)
}

func (a *app) printHandoff(h *fsstate.Handoff, q *handoff.Queue) error {
	v, _ := q.View(h) // what cannot be looked up is for show to tell
	if a.json {
		return a.printJSON(map[string]any{"handoff": handoffJSONOf(v)})
	}
	_, err := fmt.Fprintln(a.stdout, standing(v))
	return err
}

// standing is how a handoff stands, in one line.
func standing(v handoff.View) string {
	h := v.Handoff
	line := fmt.Sprintf("handoff %s to %s: %s", h.ID, printable(h.Platform), h.State)
	switch {
	case !queue.State(h.State).Open() && h.End != nil && h.End.Error != "":
		line += ": " + h.End.Error
	case v.Reason == queue.ReasonCancelAsked:
		line += ": " + v.Reason.Text()
	}
	return line
}
