package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/turn"
)

// app is one call of the program: its streams, the global flags, and the exit code of a call that went well.
type app struct {
	stdin          io.Reader
	stdout, stderr *os.File
	notes          *backlog // of stderr: see errs
	started        turn.Moment

	home   string
	config string
	unsafe bool
	json   bool

	unsaid  error // why the help, of which cobra wants no error, was not printed
	owner   int   // user id of whom the configuration may be, beside root and oneself: see config.Source
	code    int
	ordered atomic.Bool // a signal has asked this call to end: nothing further is started
}

func (a *app) command() *cobra.Command {
	showVersion := false
	root := &cobra.Command{
		Use:   "hermes-supervisor",
		Short: "Keep what an AI agent was asked to do from being lost, done twice, or done again",
		Long: `hermes-supervisor wraps an AI agent as it is and protects its turns: one prompt being worked on in one session.
What the agent was asked is on disk before it starts; a crash is told from a living owner by its identity; what was
cut is continued with the original prompt; what has ended never starts again.

Start with demo; then see turn run, or give the command line of an agent that is built in, as in the second example.`,
		Example: `  hermes-supervisor demo
  hermes-supervisor claude -p "Fix the failing tests"
  hermes-supervisor run`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return a.printVersion()
			}
			return cmd.Help()
		},
		SilenceErrors: true, SilenceUsage: true, DisableFlagsInUseLine: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &turn.UsageError{Problem: err.Error()} })
	flags := root.PersistentFlags()
	flags.StringVar(&a.home, "home", "", "`FOLDER` to work in as HERMES_HOME (default $HERMES_HOME, then ~/.hermes and its active profile)")
	flags.StringVarP(&a.config, "config", "c", "", "`FILE` to read as hermes.toml (default $HERMES_SUPERVISOR_CONFIG, then hermes-supervisor/hermes.toml in your configuration folder)")
	flags.BoolVar(&a.unsafe, "unsafe-filesystem", false, "work on a file system whose locks may not hold")
	flags.BoolVar(&a.json, "json", a.json, "print JSON (\"schema\": 1), errors and help too")
	flags.Lookup("json").DefValue = "false"
	root.Flags().BoolVarP(&showVersion, "version", "v", false, "print the version, as the command version does")
	root.SetUsageFunc(printUsage)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.unsaid = a.printHelp(cmd) })
	root.SetHelpCommand(a.helpCommand())
	root.AddCommand(a.runCommand(), a.statusCommand(), a.logsCommand(), a.eventsCommand(), a.doctorCommand())
	root.AddCommand(a.controls()...)
	root.AddCommand(a.wrapperCommands()...)
	root.AddCommand(a.turnCommand(), a.handoffCommand(), a.pauseCommand(), a.unpauseCommand(), a.explainCommand())
	root.AddCommand(a.agentsCommand(), a.hookCommand(), a.hooksCommand(), a.checkCommand(), a.sweepCommand(), a.demoCommand())
	root.AddCommand(a.installCommand(), a.uninstallCommand(), a.completionCommand(), a.versionCommand(), exitCodesTopic(), filesTopic())
	root.AddCommand(a.limitsCommand(), a.demoAgentCommand(), a.serveTurnCommand(), a.lockTryCommand()) // hidden
	return root
}

// noArgs and oneKey are argument checks whose errors are usage errors (exit 2).
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &turn.UsageError{Problem: fmt.Sprintf("unexpected argument %q", args[0])}
	}
	return nil
}

func oneKey(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &turn.UsageError{Problem: fmt.Sprintf("%s takes one session key, not %d", cmd.Name(), len(args))}
	}
	return nil
}

// room is the open home with the configuration in force.
type room struct {
	*turn.Room

	config config.Config
}

// errNoHome is a home that does not exist, which to a command that only looks is an empty one.
var errNoHome = errors.New("home does not exist")

// open opens the home for commands that change it, and read for those that only look: they make no home, and read one
// that they may not write.
func (a *app) open() (*room, error) { return a.openRoom(false) }

func (a *app) read() (*room, error) { return a.openRoom(true) }

func (a *app) openRoom(readOnly bool) (*room, error) {
	cfg, source, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	home, err := a.resolveHome()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(home.Path); readOnly && errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", home.Path, errNoHome)
	}
	store, err := fsstate.Open(home, fsstate.Options{UnsafeFilesystem: a.unsafe})
	if err != nil && !readOnly {
		return nil, err
	}
	if err != nil {
		if store, err = fsstate.OpenRead(home); err != nil {
			return nil, err
		}
	}
	key, err := loadKey(source.Dir)
	if err != nil && !readOnly {
		// Work is never refused for want of a key: it only is not continued by anyone but its keeper and a person.
		a.say("records are not signed, so nothing but their keeper and you will continue them: %v", err)
	}
	r := &room{config: cfg, Room: &turn.Room{
		Store: store, Key: key,
		Log:      a.log(readOnly),
		Settings: settingsOf(cfg),
	}}
	r.Agents = r.named
	return r, nil
}

// loadKey is the key that lies beside the configuration; without a configuration folder there is none.
func loadKey(dir string) ([]byte, error) {
	if dir == "" {
		return nil, errors.New("no configuration folder is known (no HOME): name a file with -c or " + config.Var)
	}
	return fsstate.LoadKey(dir)
}

// loadConfig is the configuration for whoever starts no service: a variable that only the supervisor has may be missing.
func (a *app) loadConfig() (config.Config, config.Source, error) { return a.load(config.LoadAsWritten) }

func (a *app) load(read func(config.Source) (config.Config, error)) (config.Config, config.Source, error) {
	dir, _ := os.UserConfigDir() // "" where there is none: then only -c and the environment name a file
	source, err := config.Find(a.config, os.Getenv, dir)
	if err != nil {
		return config.Config{}, source, err
	}
	source.Owner = a.owner
	cfg, err := read(source)
	return cfg, source, err
}

func (a *app) resolveHome() (fsstate.Home, error) {
	user, err := os.UserHomeDir()
	if err != nil && a.home == "" && os.Getenv("HERMES_HOME") == "" {
		return fsstate.Home{}, &turn.UsageError{Problem: "no home folder is known: give --home or set HERMES_HOME"}
	}
	return fsstate.ResolveHome(a.home, os.Getenv, user)
}

// log is where a room reports what it met on the way. A command that only looks prints the same things as its answer.
func (a *app) log(readOnly bool) *slog.Logger {
	if readOnly {
		return nil
	}
	return warnings(a.errs())
}

func warnings(to io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
			if attr.Key == slog.TimeKey || attr.Key == slog.LevelKey {
				return slog.Attr{} // the line stands among those of say, which have neither
			}
			return attr
		},
	}))
}

// errs is stderr for whole lines: a keeper, whose agent has to be ended when a signal says so, does not stand still in a write
// that nobody reads.
func (a *app) errs() io.Writer {
	if a.notes == nil {
		return a.stderr
	}
	return inOrder{a.notes}
}

// say prints one line for people on stderr.
func (a *app) say(format string, args ...any) {
	_, _ = io.WriteString(a.errs(), said(format, args...))
}

// said is what say prints.
func said(format string, args ...any) string {
	return shownLines(fmt.Sprintf("hermes-supervisor: "+format+"\n", args...))
}
