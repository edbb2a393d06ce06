package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise"
)

func (a *app) reloadCommand(op, short string) *cobra.Command {
	return &cobra.Command{
		Use:   op,
		Short: short,
		Long: short + `. It waits until run has done so; a hermes.toml with a fault changes
nothing. apply --dry-run tells what would be done.`,
		Example: "  hermes-supervisor " + op,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.reread(cmd.Context(), op)
		},
	}
}

func (a *app) applyCommand() *cobra.Command {
	dry := false
	cmd := a.reloadCommand(supervise.OpApply, "Read hermes.toml again and restart what was started with something else")
	cmd.Example = "  hermes-supervisor apply --dry-run\n" + cmd.Example
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what would be done, and do nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if dry {
			return a.plan()
		}
		return a.reread(cmd.Context(), supervise.OpApply)
	}
	return cmd
}

// errRunIsDown is an order that only a living supervisor can carry out.
var errRunIsDown = errors.New("no run with services is up, and the next one reads the configuration anyway; a run or handoff watch without services reads it again on SIGHUP")

// reread orders every supervisor that runs something in this home to read its configuration again.
func (a *app) reread(ctx context.Context, op string) error {
	p, err := a.placeOf("") //nolint:contextcheck // it waits for little, and not for long
	if err != nil {
		return err
	}
	defer p.files.Store.Close() //nolint:errcheck // a directory handle
	records, _ := p.files.All()
	asked := map[string]bool{}
	for _, rec := range records {
		instance := rec.Supervisor.Instance
		if asked[instance] || p.supervisor(rec).Verdict != ident.Alive {
			continue
		}
		asked[instance] = true
		if err := a.ask(ctx, p, &fsstate.Order{Supervisor: instance, Op: op}); err != nil {
			return err
		}
	}
	if len(asked) == 0 {
		return &busyError{errRunIsDown}
	}
	if a.json {
		return a.printJSON(map[string]any{"op": op, "done": true})
	}
	_, err = fmt.Fprintln(a.stdout, "the configuration has been read again")
	return err
}

// planJSON is one line of apply --dry-run.
type planJSON struct {
	supervise.Change

	Profile string `json:"profile,omitempty"`
}

// plan prints what apply would do.
func (a *app) plan() error {
	cfg, source, err := a.load(config.Load)
	if err != nil {
		return err
	}
	root, err := a.resolveHome()
	if err != nil {
		return err
	}
	key, err := loadKey(source.Dir)
	if err != nil {
		return err
	}
	plan := []planJSON{}
	for _, home := range homesBelow(root) {
		specs, err := servicesOf(cfg, ownService{}, home)
		if err != nil {
			return err
		}
		var records []*fsstate.Service
		store, err := fsstate.OpenRead(home)
		if err == nil {
			records, _ = fsstate.ServiceFiles{Store: store, Key: key}.All()
			_ = store.Close()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, c := range supervise.Plan(specs, records, nil) {
			plan = append(plan, planJSON{c, home.Profile})
		}
	}
	if a.json {
		return a.printJSON(map[string]any{"plan": plan})
	}
	rows := make([][]any, 0, len(plan))
	for _, c := range plan {
		rows = append(rows, []any{c.Service, c.Profile, string(c.Step)})
	}
	return a.table([]string{"SERVICE", "PROFILE", "STEP"}, rows)
}
