package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/cmd/hermes-supervisor/manager"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise"
	"hermes-supervisor/supervise/follow"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/output"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/service"
	"hermes-supervisor/supervise/turn"
)

func (a *app) runCommand() *cobra.Command {
	own, final := ownService{}, 0
	ending := func(cmd *cobra.Command, err error) error {
		if cmd.Flags().Changed("final-exit") && 0 <= final && final <= 255 && isFinal(err) {
			a.report(err)
			if !a.json {
				a.say("a restart would find the same: ending with exit code %d, by which the service manager starts nothing again", final)
			}
			a.code, err = final, nil
		}
		return err
	}
	cmd := &cobra.Command{
		Use:   "run [--preset NAME] [-- ARGV…]",
		Short: "Keep services up, continue interrupted turns and deliver handoffs, in the foreground",
		Long: `Runs the services of hermes.toml in this home and its profiles, continues the interrupted turns whose agent hermes.toml
names, and delivers handoffs to the platforms that it has. With a command line after --, that is one more service, named
after its program; where its restart policy lets it end and nothing else is to be run, run ends with its exit code.

With --preset, a built-in service is run as if hermes.toml named it alone in a [[service]].

Started at a terminal, and with no [[service]] in hermes.toml, run gives that program the terminal, so that a shell or
an editor works in it: Ctrl-C and Ctrl-Z are the program's then (Ctrl-Z stops run too, and your shell's fg continues
both), nothing that it prints is in its log, and what run has to say comes when the terminal is its own again. Not on
Windows.

A service manager runs it by a unit that hermes-supervisor install makes.

Ctrl-C or SIGTERM stops everything in order, a second one kills what is left; SIGHUP reads hermes.toml again. When this
program dies otherwise, services and keepers live on: the next run adopts them.

With --with-parent an app starts run as its child, gives it a pipe as stdin and keeps the other end open. When the app
closes it, or ends in whatever way, run stops everything in order, as SIGTERM does, with exit code 0; interrupted turns
stay open for the next run. What the app writes into the pipe is dropped, an app that hangs changes nothing, and nothing
that run starts inherits the pipe. Where the app kills run itself, services and keepers live on until the next run.

With --json each line is an object (on stdout; after -- on stderr), told apart by its "event": "service" (a service
changed its "phase"; "reason", "text" and "launch" say more), "ready" (once: each service runs and is ready, or rests
as it is meant to), "stopping" (an ordered stop has begun), "lost" (so many "lines" were not read in time). Ignore what
you do not know.

A reader of all this that hangs holds up nothing: a MiB of lines waits for it, and what is more is dropped and counted. What
a program after -- prints comes as fast as its reader takes it; a stop waits a second for one that takes nothing, and the
rest is in the program's log.`,
		Example: `  hermes-supervisor run
  hermes-supervisor run --preset hermes-gateway
  hermes-supervisor run -- my-server --port 8080
  hermes-supervisor --json run --with-parent`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return &turn.UsageError{Problem: fmt.Sprintf("%q stands before --: the command line comes after it", args[0])}
			}
			own.argv = args
			if _, known := policies[own.restart]; own.restart != "" && !known {
				return &turn.UsageError{Problem: fmt.Sprintf("--restart is always, on-failure or never, not %.40q", own.restart)}
			}
			if final < 0 || final > 255 {
				return &turn.UsageError{Problem: fmt.Sprintf("--final-exit is an exit code, 0 to 255, not %d", final)}
			}
			return a.run(cmd, own)
		},
	}
	check := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return ending(cmd, check(cmd, args)) }
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return ending(cmd, &turn.UsageError{Problem: err.Error()})
	})
	cmd.Flags().IntVar(&final, "final-exit", 0, "exit `CODE` in place of 2, 76, 77 and 78, for a service manager that is to leave those alone (0 for one that cannot be told of codes)")
	cmd.Flags().StringVar(&own.restart, "restart", "", "when the command line after -- is started again: `always|on-failure|never` (default from [restart])")
	cmd.Flags().BoolVar(&own.withParent, "with-parent", false, "stop in order when the app that started this program closes its stdin, a pipe, or ends")
	own.presetFlag(cmd)
	return cmd
}

// residentGC keeps the heap of a program small that runs for months and allocates next to nothing: at 100 the peak of its
// start, when the configuration is read, leaves pages behind that are half empty for good.
const residentGC = 20

func (a *app) run(cmd *cobra.Command, own ownService) error {
	cfg, source, err := a.load(config.Load)
	if err != nil {
		return err
	}
	root, err := a.resolveHome()
	if err != nil {
		return err
	}
	own.profile = root.Profile
	if cfg, err = own.withPresets(cfg); err != nil {
		return err
	}
	if err := own.startable(cfg); err != nil {
		return err
	}
	key, err := loadKey(source.Dir)
	if err != nil {
		return fmt.Errorf("records cannot be signed, so nothing could be told from a forgery: %w", err)
	}
	self, err := selfPath()
	if err != nil {
		return err
	}
	if err := nothingToRun(cfg, source, root, own); err != nil {
		return err
	}
	if none, profiles := noService(cfg, root); profiles != "" && len(own.argv) == 0 && !own.handoffsOnly {
		a.say("%s names %s: %s gives it one", source.Path, none, profiles)
	}
	var pipe *os.File
	if own.withParent {
		if pipe, err = a.parentPipe(); err != nil {
			return err
		}
	}
	own.terminal = len(own.argv) > 0 && len(cfg.Services) == 0 && a.atTerminal()
	debug.SetGCPercent(residentGC)
	host, err := process.NewHost()
	if err != nil {
		return err
	}
	about := lostLines
	if a.json {
		about = lostEvents
	}
	lines, notes := newBacklogs(a.stdout, a.stderr, about)
	defer notes.close()
	defer lines.close()
	var gone <-chan struct{}
	if pipe != nil {
		gone = withParent(cmd.Context(), pipe, notes.say)
	}
	orders, passed, stop := a.listenForRun(gone)
	defer stop()
	tell := newNotifier(os.Getenv)
	printer := &transitions{json: a.json, to: lines, tell: tell}
	s := &supervise.Supervisor{
		Root: root, Key: key, Options: fsstate.Options{UnsafeFilesystem: a.unsafe}, Host: host,
		Config: a.supervised(cfg, own), Orders: orders, Log: warnings(notes), Say: notes.say, Moved: printer.moved,
		Reload: func() (supervise.Config, error) {
			tell.reloading()
			defer tell.ready()
			again, err := config.Load(source)
			if err == nil {
				again, err = own.withPresets(again)
			}
			if err != nil {
				return supervise.Config{}, err
			}
			cfg = again // the loop that reads it again is the one that stops
			return a.supervised(again, own), nil
		},
		Keeper: func(home fsstate.Home, session, agent string) []string {
			return append(a.again(self, source, home), "turn", "run", "--session="+session, "--agent="+agent, "--continued-by="+turn.ByRun)
		},
		Deliverer: func(home fsstate.Home, id string) []string {
			return append(a.again(self, source, home), "handoff", "deliver", "--by="+handoff.ByRun, id)
		},
		HandoffsOnly: own.handoffsOnly,
		Version:      buildOf().Version,
		Up:           tell.ready,
		Alive:        tell.alive,
		Heartbeat:    tell.watchdog(),
		Ready:        func() { printer.event("ready", nil) },
		Stopping:     func() { tell.stopping(stopBudget(cfg, own)); printer.event("stopping", nil) },
	}
	if own.terminal {
		held := &heldBack{to: inOrder{notes}, terminal: os.Stdin}
		defer held.release()
		s.Log, s.Say, printer.to = warnings(held), held.say, held
		s.Foreground = &supervise.Foreground{Name: own.commandLine(cfg).Name, Signals: passed}
	} else if len(own.argv) > 0 {
		printer.to = notes // stdout is the service's
		s.Foreground = &supervise.Foreground{Name: own.commandLine(cfg).Name, Emit: a.pass, Signals: passed}
	}
	err = s.Run(cmd.Context())
	if f := s.Foreground; f != nil && f.Exit != nil {
		a.code = exitCodeOf(*f.Exit)
	}
	if _, taken := errors.AsType[*service.TakenError](err); taken {
		return &busyError{err}
	}
	return err
}

// again is the beginning of the command line of a keeper: this program, with the same home and configuration.
func (a *app) again(self string, source config.Source, home fsstate.Home) []string {
	argv := []string{self, "--home", home.Path}
	if path, err := filepath.Abs(source.Path); err == nil && source.Path != "" {
		argv = append(argv, "--config", path) // a keeper has another working directory
	}
	if a.unsafe {
		argv = append(argv, "--unsafe-filesystem")
	}
	return argv
}

// stopBudget is how long the ordered stop of what runs may take.
func stopBudget(cfg config.Config, own ownService) time.Duration {
	if len(own.argv) > 0 {
		cfg.Services = append(slices.Clone(cfg.Services), own.commandLine(cfg))
	}
	return manager.StopBudget(cfg).Total()
}

// busyError is what somebody else does now (exit 75).
type busyError struct{ error }

func (e *busyError) Unwrap() error { return e.error }

// supervised is the configuration as the supervisor takes it.
func (a *app) supervised(cfg config.Config, own ownService) supervise.Config {
	agents := &room{config: cfg}
	return supervise.Config{
		Services: func(home fsstate.Home) ([]service.Spec, error) { return servicesOf(cfg, own, home) },
		Turns:    settingsOf(cfg),
		Agents:   agents.named,
		Handoffs: supervise.Handoffs{
			Platform:      func(name string) (handoff.Platform, error) { return platformOf(cfg, name) },
			MaxConcurrent: cfg.Handoff.MaxConcurrent, Retention: time.Duration(cfg.Handoff.Retention),
		},
		MaxConcurrent: cfg.AutoContinue.MaxConcurrent,
		Stagger:       time.Duration(cfg.AutoContinue.Stagger),
		Follow:        followOf(cfg),
	}
}

// followOf is what metrics and notices are written of. What services are given as a secret, the command is not.
func followOf(cfg config.Config) follow.Config {
	n := follow.Notify{Command: cfg.Notify.Command, Events: cfg.Notify.Events, Rate: cfg.Notify.Rate, Timeout: time.Duration(cfg.Notify.Timeout)}
	for _, s := range cfg.Services {
		if s.SecretEnv != "" {
			n.Unset = append(n.Unset, s.SecretEnv)
		}
	}
	return follow.Config{Textfile: cfg.Metrics.Textfile, Notify: n}
}

func settingsOf(cfg config.Config) policy.Settings {
	return policy.Settings{
		Enabled: cfg.AutoContinue.Enabled, Freshness: time.Duration(cfg.AutoContinue.Freshness),
		MaxAttempts: cfg.AutoContinue.MaxAttempts,
		Backoff:     time.Duration(cfg.AutoContinue.Backoff), MaxBackoff: time.Duration(cfg.AutoContinue.MaxBackoff),
	}
}

// pass gives on what the service of the command line prints. A reader that went away costs the service nothing.
func (a *app) pass(s output.Stream, b []byte) error {
	to := a.stdout
	if s == output.Err {
		to = a.stderr
	}
	_, _ = to.Write(b)
	return nil
}

// exitCodeOf is the exit code by which a shell would tell of an end.
func exitCodeOf(e phase.Exit) int {
	switch {
	case !e.Observed:
		return exitFailed
	case e.Signal != 0:
		return 128 + e.Signal
	}
	return e.Code
}
