package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/process"
)

// serviceJSON is one service in the JSON of status.
type serviceJSON struct {
	Service    string       `json:"service"`
	Profile    string       `json:"profile,omitempty"`
	Home       string       `json:"home"`
	Configured bool         `json:"configured"`
	Phase      string       `json:"phase"`
	Reason     phase.Reason `json:"reason,omitempty"`
	Text       string       `json:"text,omitempty"`
	Remedy     string       `json:"remedy,omitempty"`
	Up         bool         `json:"up"` // what was ordered
	PID        int          `json:"pid,omitempty"`
	Alive      string       `json:"verdict"` // of the process
	Since      time.Time    `json:"since,omitzero"`
	NextStart  time.Time    `json:"next_start,omitzero"`
	Restarts   int64        `json:"restarts"`
	Last       *phase.Exit  `json:"last_exit,omitempty"`
	Supervisor *ident.Ident `json:"supervisor,omitempty"` // nil: run is down
	Changed    bool         `json:"changed,omitempty"`    // runs with another configuration than hermes.toml has now
}

func (a *app) statusCommand() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show services: what they do, since when, and why",
		Long: `Shows every service of the home and (of the root home) its profiles, from the files: it works while run is down, and says
so. Open handoffs, and those that failed in the last day, are counted.`,
		Example: `  hermes-supervisor status --json`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch {
				return a.watchStatus(cmd.Context())
			}
			return a.status()
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "print it again when it changes, until Ctrl-C")
	return cmd
}

func (a *app) status() error {
	services, handoffs, bad, err := a.services()
	if err != nil {
		return err
	}
	return a.printServices(services, handoffs, bad)
}

// watchStatus prints the services again whenever what would be printed has changed.
func (a *app) watchStatus(ctx context.Context) error {
	last := ""
	for {
		services, handoffs, bad, err := a.services() //nolint:contextcheck // it waits for little, and not for long
		if err != nil {
			return err
		}
		if now := fmt.Sprint(services, handoffs, bad); now != last {
			if last != "" && !a.json {
				fmt.Fprintln(a.stdout)
			}
			last = now
			if err := a.printServices(services, handoffs, bad); err != nil {
				return err
			}
		}
		if err := process.Pause(ctx, 500*time.Millisecond); err != nil {
			return nil //nolint:nilerr // the end of watching
		}
	}
}

// services reads the services of the home in force and of the profiles below it, and counts the handoffs.
func (a *app) services() (services []serviceJSON, handoffs handoffCounts, bad []error, err error) {
	cfg, source, err := a.loadConfig()
	if err != nil {
		return nil, handoffs, nil, err
	}
	root, err := a.resolveHome()
	if err != nil {
		return nil, handoffs, nil, err
	}
	key, err := loadKey(source.Dir)
	if err != nil {
		return nil, handoffs, nil, err
	}
	resolved, _, unresolved := a.load(config.Load)
	for _, home := range homesBelow(root) {
		digests := map[string]string{}
		if specs, err := servicesOf(resolved, ownService{}, home); unresolved == nil && err == nil {
			for _, spec := range specs {
				digests[spec.Name] = spec.Digest
			}
		}
		store, err := fsstate.OpenRead(home)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			bad = append(bad, err)
			continue
		}
		found, problems := servicesIn(cfg, digests, key, home, store)
		services, bad = append(services, found...), append(bad, problems...)
		if store != nil {
			bad = append(bad, handoffs.add(fsstate.HandoffFiles{Store: store, Key: key})...)
			_ = store.Close()
		}
	}
	return services, handoffs, bad, nil
}

// servicesIn joins what is configured for one home with what is recorded in it. digests are those of the services whose
// values could be resolved: a variable or an env file may be there for the supervisor alone. store is nil in a home that
// was never used.
func servicesIn(cfg config.Config, digests map[string]string, key []byte, home fsstate.Home, store *fsstate.Store) (services []serviceJSON, bad []error) {
	records := map[string]*fsstate.Service{}
	if store != nil {
		all, problems := fsstate.ServiceFiles{Store: store, Key: key}.All()
		bad = problems
		for _, rec := range all {
			records[rec.Service] = rec
		}
	}
	p := &place{home: home, files: fsstate.ServiceFiles{Store: store, Key: key}}
	for _, configured := range cfg.Services {
		if !configured.Profiles.Has(home.Profile) {
			continue
		}
		rec := records[configured.Name]
		delete(records, configured.Name)
		if rec == nil {
			services = append(services, serviceJSON{
				Service: configured.Name, Profile: home.Profile, Home: home.Path, Configured: true, Phase: phase.Stopped.String(),
				Text: "never run", Up: configured.Autostart, Alive: ident.Dead.String(),
			})
			continue
		}
		s := p.describe(rec)
		digest, known := digests[configured.Name]
		s.Configured, s.Changed = true, known && rec.Digest != digest && s.PID != 0
		services = append(services, s)
	}
	for _, rec := range records {
		if s := p.describe(rec); s.PID != 0 || s.Supervisor != nil {
			services = append(services, s)
		}
	}
	return services, bad
}

func (p *place) describe(rec *fsstate.Service) serviceJSON {
	s := stateOf(rec)
	j := serviceJSON{
		Service: rec.Service, Profile: p.home.Profile, Home: p.home.Path, Phase: s.Phase.String(), Reason: s.Reason,
		Text: s.Reason.Text(), Remedy: s.Reason.Remedy(), Up: s.Up, Since: s.StartedAt, NextStart: s.NextAt,
		Restarts: s.Restarts, Last: s.Last, Alive: ident.Dead.String(),
	}
	if !s.ReadyAt.IsZero() {
		j.Since = s.ReadyAt
	}
	if by := p.supervisor(rec); by.Verdict != ident.Dead {
		j.Supervisor = &rec.Supervisor
	}
	switch s.Phase {
	case phase.Starting, phase.Running, phase.Stopping, phase.Killing:
		f := p.process(rec)
		j.Alive = f.Verdict.String()
		if f.Verdict != ident.Dead {
			j.PID = rec.Process.PID
		}
		if j.Supervisor == nil && f.Verdict == ident.Dead {
			j.Text = "ended while run was down"
		} else if j.Supervisor == nil {
			j.Text = "lives on while run is down"
		}
	case phase.Stopped, phase.Waiting, phase.Parked:
		j.Since = time.Time{}
		if s.Last != nil {
			j.Since = s.Last.At
		}
	}
	return j
}

func (a *app) printServices(services []serviceJSON, handoffs handoffCounts, bad []error) error {
	running := false
	for _, s := range services {
		running = running || s.Supervisor != nil
		if s.Up && (s.Phase != phase.Running.String() || s.Supervisor == nil) {
			a.code = exitFailed
		}
	}
	problems := make([]string, 0, len(bad))
	for _, err := range bad {
		a.code = exitState
		problems = append(problems, problem(err))
	}
	if a.json {
		if services == nil {
			services = []serviceJSON{}
		}
		return a.printJSON(map[string]any{"running": running, "services": services, "handoffs": handoffs, "errors": problems})
	}
	for _, line := range problems {
		a.say("%s", line)
	}
	if !running {
		a.say("run is down; this is what the files show")
	}
	if handoffs != (handoffCounts{}) {
		a.say("handoffs: %d pending, %d running, %d failed in the last day; see `hermes-supervisor handoff list --all`", handoffs.Pending, handoffs.Running, handoffs.Failed)
	}
	rows := make([][]any, 0, len(services))
	for _, s := range services {
		rows = append(rows, []any{s.Service, s.Profile, s.Phase, pidText(s.PID), s.Since, s.Restarts, s.Text})
	}
	return a.table([]string{"SERVICE", "PROFILE", "PHASE", "PID", "SINCE", "RESTARTS", "WHY"}, rows)
}

func pidText(pid int) string {
	if pid == 0 {
		return "-"
	}
	return strconv.Itoa(pid)
}
