package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
)

func (a *app) handoffShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID|SESSION",
		Short: "Show one handoff, what is handed over, and what to do about it",
		Long: `Shows one handoff. Here and in the other commands, ID is its id or the beginning of it, or its session's key: that means
the session's open handoff, else the one that ended last.`,
		Example: `  hermes-supervisor handoff show fix-tests`,
		Args:    oneHandoff,
		RunE: func(_ *cobra.Command, args []string) error {
			v, err := a.viewHandoff(args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"handoff": handoffJSONOf(v), "note": v.Note, "data": v.Data})
			}
			return describeHandoff(a.stdout, v)
		},
	}
}

func (a *app) viewHandoff(word string) (handoff.View, error) {
	r, err := a.read()
	if errors.Is(err, errNoHome) {
		return handoff.View{}, fmt.Errorf("handoff %s: %w (%w)", label(word), handoff.ErrNone, err)
	}
	if err != nil {
		return handoff.View{}, err
	}
	defer r.Store.Close() //nolint:errcheck // a directory handle
	h, q, err := a.findHandoff(r, word, true)
	if err != nil {
		return handoff.View{}, err
	}
	v, err := q.View(h)
	if err != nil {
		a.say("%s", oneLine(err))
		a.code = exitState
	}
	return v, nil
}

// describeHandoff prints the facts of a handoff, a line each, then what is handed over.
func describeHandoff(to io.Writer, v handoff.View) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, shown(fmt.Sprintf(format, args...)))
	}
	moment := func(t time.Time) string {
		return fmt.Sprintf("%s (%s)", t.Local().Format(time.DateTime), age(time.Since(t)))
	}
	line("id", "%s", v.ID)
	line("home", "%s", v.Home.Path)
	line("session", "%s", printable(v.Session))
	line("platform", "%s", printable(v.Platform))
	line("state", "%s", v.State)
	line("tries", "%d", v.Tries)
	line("requested", "%s", moment(v.RequestedAt))
	if v.RequestKey != "" {
		line("key", "%s", printable(v.RequestKey))
	}
	if v.AfterTurn {
		line("after turn", "yes")
	}
	line("last seen", "%s", moment(v.LastSeen))
	if c := v.Claim; c != nil {
		by := "by a keeper of its own"
		switch {
		case c.External:
			by = "by a program of its own"
		case c.By == handoff.ByRun:
			by = "by a keeper of run"
		}
		line("claim", "%s, %s, %s", c.Claimer.Instance, by, moment(c.At))
		if v.State == string(queue.Running) {
			line("claimer", "%s", judged(c.Claimer.PID, v.Claimer))
		}
		if c.Handler.PID != 0 {
			line("command", "pid %d", c.Handler.PID)
		}
	}
	if !v.CancelAsked.IsZero() {
		line("cancel", "asked for %s", moment(v.CancelAsked))
	}
	open := queue.State(v.State).Open()
	if e := v.End; e != nil {
		name, code := "ended", ""
		if open {
			name = "last try" // it was retried
		}
		if e.Code != nil {
			code = fmt.Sprintf(", exit code %d", *e.Code)
		}
		line(name, "%s: %s%s", moment(e.At), queue.Reason(e.Reason).Text(), code)
		if e.Error != "" {
			line("error", "%s", printable(e.Error))
		}
	}
	if open {
		line("why", "%s", v.Reason.Text())
	}
	if !v.Verified {
		line("verified", "no: %s", queue.ReasonUnverified.Text())
	}
	if todo := whatToDo(v); todo != "" {
		line("to do", "%s", todo)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, text := range []string{v.Note, v.Data} {
		if text == "" {
			continue
		}
		if _, err := fmt.Fprintf(to, "\n%s\n", shownAt(to, strings.TrimRight(text, "\n"))); err != nil {
			return err
		}
	}
	return nil
}
