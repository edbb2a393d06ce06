package main

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/turn"
)

// serviceJSON is one service in the JSON of status.
type serviceJSON struct {
	Service    string           `json:"service"`
	Profile    string           `json:"profile,omitempty"`
	Home       string           `json:"home"`
	Configured bool             `json:"configured"`
	Phase      string           `json:"phase"`
	Reason     phase.Reason     `json:"reason,omitempty"`
	Text       string           `json:"text,omitempty"`
	Remedy     string           `json:"remedy,omitempty"`
	Up         bool             `json:"up"` // what was ordered
	PID        int              `json:"pid,omitempty"`
	Alive      string           `json:"verdict"` // of the process
	Since      time.Time        `json:"since,omitzero"`
	NextStart  time.Time        `json:"next_start,omitzero"`
	Restarts   int64            `json:"restarts"`
	Recent     *recentJSON      `json:"recent_starts,omitempty"`  // of one that waits
	Failing    *fsstate.Failing `json:"failing_health,omitempty"` // its health check fails, and it was not given up yet
	Last       *phase.Exit      `json:"last_exit,omitempty"`
	Supervisor *ident.Ident     `json:"supervisor,omitempty"` // nil: run is down
	Changed    bool             `json:"changed,omitempty"`    // runs with another configuration than hermes.toml has now
}

// recentJSON are the automatic starts by which a crash loop is told.
type recentJSON struct {
	Starts int       `json:"starts"`
	Since  time.Time `json:"since"`
}

func (a *app) statusCommand() *cobra.Command {
	var watch bool
	var health string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show services, open turns and handoffs: how they stand, since when, and why",
		Long: `Shows every service of the home and (of the root home) its profiles, then the open turns and handoffs, from the files: it
works while run is down, and says so. What waits says for what and until when: a crash loop, a back-off, a provider's
rate limit, a stall. Turns that were given up are named, and handoffs that failed in the last day counted. Where no terminal shows it, the lines of turns begin
with "turn:", those of handoffs with "handoff:".

With --watch it stays on the screen: j and k or the arrows choose a line, e explains it, r restarts, s stops and S starts a
service, l shows its output, ? tells the rest, q leaves. NO_COLOR and CLICOLOR=0 take the colours away.

` + healthHelp,
		Example: `  hermes-supervisor status
  hermes-supervisor status --watch
  hermes-supervisor status --health=ready`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked := cmd.Flags().Changed("health")
			switch {
			case asked && watch:
				return &turn.UsageError{Problem: "--health answers once; it cannot be combined with --watch"}
			case asked:
				return a.health(health)
			case watch && a.hasScreen():
				return a.watchScreen(cmd.Context())
			case watch:
				return a.watchLines(cmd.Context())
			}
			return a.status()
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "keep it on the screen, with keys to restart, stop and explain; where there is none, print it again when it changes")
	cmd.Flags().StringVar(&health, "health", "", "answer a probe: live or ready")
	cmd.Flags().Lookup("health").NoOptDefVal = healthLive
	return cmd
}

func (a *app) status() error {
	now, err := a.look(true)
	if err != nil {
		return err
	}
	return a.printOverview(now)
}

// overview is how a home and the profiles below it stand, as the files tell.
type overview struct {
	services []serviceJSON
	turns    []turn.View
	gaveUp   []givenUp
	handoffs []handoff.View // open ones
	counts   handoffCounts
	bad      []error // what could not be read
	closed   bool    // among that a home's whole state, or who its run is: what is not shown may be there
	running  bool    // a run is at work here, be it without any service
}

// look reads the services of the home in force and of the profiles below it; with work also their open turns and
// handoffs. It makes nothing, and changes nothing but that a broken record of a turn is set aside.
func (a *app) look(work bool) (overview, error) {
	var now overview
	cfg, source, err := a.loadConfig()
	if err != nil {
		return now, err
	}
	root, err := a.resolveHome()
	if err != nil {
		return now, err
	}
	key, err := loadKey(source.Dir)
	if err != nil {
		return now, err
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
			now.bad, now.closed = append(now.bad, err), true
			continue
		}
		found, problems := servicesIn(cfg, digests, key, home, store)
		now.services, now.bad = append(now.services, found...), append(now.bad, problems...)
		if store == nil {
			continue
		}
		if work {
			now.addWork(a, cfg, key, store)
		}
		_ = store.Close()
	}
	if run, err := livenessOf(root, time.Now()); err == nil {
		now.running = run.there
	} else if !now.closed { // of which it is said already
		now.bad, now.closed = append(now.bad, err), true
	}
	return now, nil
}

// addWork adds the open turns and the handoffs of one home.
func (s *overview) addWork(a *app, cfg config.Config, key []byte, store *fsstate.Store) {
	r := &room{config: cfg, Room: &turn.Room{Store: store, Key: key, Settings: settingsOf(cfg)}}
	r.Agents = r.named
	turns, bad := r.List()
	s.turns, s.bad = append(s.turns, turns...), append(s.bad, bad...)
	s.addGivenUp(r.Room, turns)
	q := a.queueOf(r)
	handoffs, bad := q.List(false)
	s.handoffs, s.bad = append(s.handoffs, handoffs...), append(s.bad, bad...)
	s.bad = append(s.bad, s.counts.add(q.Files)...)
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
	for _, name := range slices.Sorted(maps.Keys(records)) {
		if s := p.describe(records[name]); s.PID != 0 || s.Supervisor != nil {
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
	if s.Phase == phase.Waiting && len(s.Recent) > 0 {
		j.Recent = &recentJSON{len(s.Recent), s.Recent[0]}
	}
	if s.Phase == phase.Running {
		j.Failing = rec.Failing
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
