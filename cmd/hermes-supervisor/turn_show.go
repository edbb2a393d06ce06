package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/turn"
)

func (a *app) turnShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show KEY",
		Short:   "Show one open turn with its prompt",
		Example: `  hermes-supervisor turn show fix-tests`,
		Args:    oneKey,
		RunE: func(_ *cobra.Command, args []string) error {
			v, err := a.view(args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"turn": jsonOf(v), "prompt": v.Turn.Prompt})
			}
			describeTurn(a.stdout, v)
			_, err = fmt.Fprintf(a.stdout, "decision   %s: %s\n\n%s\n", v.Decision.Action, v.Decision.Reason.Text(), shownAt(a.stdout, strings.TrimRight(v.Turn.Prompt, "\n")))
			return err
		},
	}
}

// view is one turn for the commands that look at it.
func (a *app) view(key string) (turn.View, error) {
	r, err := a.read()
	if errors.Is(err, errNoHome) {
		return turn.View{}, fmt.Errorf("session %s: %w (%w)", label(key), turn.ErrNoTurn, err)
	}
	if err != nil {
		return turn.View{}, err
	}
	defer r.Store.Close() //nolint:errcheck // a directory handle
	if r, err = a.homeOf(r, key, true); err != nil {
		return turn.View{}, err
	}
	return r.Show(key)
}

// describeTurn prints the facts of a turn, a line each.
func describeTurn(to io.Writer, v turn.View) {
	t := v.Turn
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, shown(fmt.Sprintf(format, args...)))
	}
	line("session", "%s", printable(t.Session))
	line("home", "%s (%s)", v.Home, v.Store)
	if t.Agent != "" {
		line("agent", "%s", printable(t.Agent))
	}
	line("phase", "%s, attempt %d", t.Phase, t.Attempts)
	if t.End != nil {
		receipt := ""
		if t.Receipt != nil && t.Receipt.Pending {
			receipt = fmt.Sprintf("; its receipt is due (failed %d times)", t.Receipt.Failures)
		}
		line("end", "exit code %d: %s%s", t.End.Code, policy.Reason(t.End.Reason).Text(), receipt)
	}
	line("started", "%s (%s)", t.StartedAt.Local().Format(time.DateTime), age(time.Since(t.StartedAt)))
	if !t.LastSeen.IsZero() {
		line("last seen", "%s (%s)", t.LastSeen.Local().Format(time.DateTime), age(time.Since(t.LastSeen)))
	}
	if !t.Reported() {
		line("keeper", "%s", judged(t.Keeper.PID, v.Keeper))
	}
	line("owner", "%s", judged(t.Owner.PID, v.Owner))
	if t.Crash != nil {
		line("last run", "%s", policy.Reason(t.Crash.Reason).Text())
	}
	if v.Waiting != nil {
		line("waits", "%s: %s", v.Waiting.Reason.Text(), waitingText(*v.Waiting, time.Now()))
	}
	_ = w.Flush()
}

// judged is a process and what is known of its life; the reason names the pid itself where it looked at it.
func judged(pid int, f ident.Finding) string {
	if strings.Contains(f.Why, "pid") {
		return fmt.Sprintf("%s: %s", f.Verdict, f.Why)
	}
	return fmt.Sprintf("%s: pid %d, %s", f.Verdict, pid, f.Why)
}

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain KEY",
		Short: "Tell what would happen to a turn now, by which rule, and what would change it",
		Long: `Prints every rule of the decision about an open turn, in order, with the fact that it looked at. The first rule that
does not hold decides; those after it tell what else would stand in the way.`,
		Example: `  hermes-supervisor explain fix-tests`,
		Args:    oneKey,
		RunE: func(_ *cobra.Command, args []string) error {
			v, err := a.view(args[0])
			if err != nil {
				return err
			}
			if a.json {
				checks, _ := policy.Explain(v.Facts)
				rules := make([]map[string]any, 0, len(checks))
				for _, c := range checks {
					rules = append(rules, map[string]any{"rule": c.Rule, "fact": c.Fact, "holds": c.Holds, "decided": c.Decided})
				}
				return a.printJSON(map[string]any{"turn": jsonOf(v), "rules": rules})
			}
			return explainTurn(a.stdout, v)
		},
	}
}

// explainTurn prints the facts of a turn, every rule of the decision about it, and what would change that.
func explainTurn(to io.Writer, v turn.View) error {
	checks, decision := policy.Explain(v.Facts)
	describeTurn(to, v)
	fmt.Fprintln(to)
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, c := range checks {
		mark := "yes"
		switch {
		case c.Decided:
			mark = "decides"
		case !c.Holds:
			mark = "no"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", mark, c.Rule, c.Fact)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(to, "\n%s: %s\n", decision.Action, decision.Reason.Text())
	if remedy := remedy(decision.Reason, v.Turn.Session, v.Turn.Agent); remedy != "" {
		fmt.Fprintf(to, "to change it: %s\n", remedy)
	}
	return nil
}
