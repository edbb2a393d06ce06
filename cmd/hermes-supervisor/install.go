package main

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/manager"
	"hermes-supervisor/supervise/turn"
)

// installFlags are those of install and uninstall, of which each command has some.
type installFlags struct {
	manager         string
	user, system    bool
	runAs           string
	print, packaged bool
	force, noStart  bool
	scope, goos     string // what they come to; a test sets goos
}

func (a *app) installCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Have systemd, launchd or Windows's Task Scheduler keep run up",
		Long: `Makes the unit by which a service manager keeps hermes-supervisor run up, from hermes.toml, and starts it. The home, the
configuration and PATH of the shell that installs stand in it as they are now; nothing else of the environment does, and
no secret: variables go into env_file of hermes.toml. Its stop time is above what the services may take; after changing
these, install again.

It is refused where another unit runs the same home, its root, or a profile of it: one of ours, or Hermes's own gateway unit,
plist, s6 service or task.`,
		Example: `  hermes-supervisor install systemd
  hermes-supervisor install systemd --print
  hermes-supervisor install launchd`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		a.installOne(manager.Systemd, "Keep run up by systemd: by your own manager, or with --system by the machine's",
			`Writes hermes-supervisor.service (with the profile's name behind it for a profile) and has systemctl enable and start
it. Your own manager ends with your last logout, and starts at your first login, unless you have it linger:
loginctl enable-linger says so for good.`,
			"  hermes-supervisor install systemd\n  sudo hermes-supervisor install systemd --system --as me --home ~/.hermes -c ~/hermes.toml"),
		a.installOne(manager.Launchd, "Keep run up by launchd, as your agent",
			`Writes ~/Library/LaunchAgents/org.hermes-supervisor.plist and runs launchctl enable and bootstrap. What run prints goes to
~/Library/Logs/hermes-supervisor.log. launchd cannot be told of exit codes, so that an end that a restart would not mend
comes out as 0 (run --final-exit 0). In a user's gui domain it waits at most 60 s for a stop and then kills run: services
that were not stopped by then live on, and the next run takes them over.`,
			"  hermes-supervisor install launchd\n  hermes-supervisor install launchd --print"),
		a.installOne(manager.WindowsTask, "Keep run up by Windows's Task Scheduler, from your logon on",
			`Writes the task beside hermes.toml and has schtasks make it: started at your logon, tried again each minute where it failed
(255 times, the most there is), without a time limit, and never twice. Its console window may be closed, which is an ordered stop.`,
			"  hermes-supervisor install windows-task\n  hermes-supervisor install windows-task --print"),
	)
	return cmd
}

func (a *app) installOne(kind, short, long, example string) *cobra.Command {
	f := &installFlags{manager: kind, goos: runtime.GOOS}
	cmd := &cobra.Command{
		Use: kind, Short: short, Long: long, Example: example, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.install(cmd.Context(), f)
		},
	}
	f.scopes(cmd)
	if kind == manager.Systemd {
		cmd.Flags().StringVar(&f.runAs, "as", "", "`USER` that a unit of the machine's manager runs as (default: who called sudo, else yourself)")
	}
	cmd.Flags().BoolVar(&f.print, "print", false, "write and run nothing: print the unit")
	cmd.Flags().BoolVar(&f.packaged, "packaged", false, "with --print: the unit that a package brings, for each user's own home and configuration")
	cmd.Flags().BoolVar(&f.force, "force", false, "install although something else runs this home, and over a file that is not ours")
	cmd.Flags().BoolVar(&f.noStart, "no-start", false, "write the unit, run none of the manager's commands, and say which they are")
	return cmd
}

// scopes adds the choice between the managers of a user and of the machine, where both are there.
func (f *installFlags) scopes(cmd *cobra.Command) {
	if f.manager == manager.Systemd {
		cmd.Flags().BoolVar(&f.user, "user", false, "your own manager (default)")
		cmd.Flags().BoolVar(&f.system, "system", false, "the machine's manager, as root")
	}
}

func (f *installFlags) check() error {
	switch {
	case f.user && f.system:
		return &turn.UsageError{Problem: "--user and --system exclude each other"}
	case f.runAs != "" && !f.system:
		return &turn.UsageError{Problem: "--as needs --system: a user's own manager runs everything as that user"}
	case f.packaged && !f.print:
		return &turn.UsageError{Problem: "--packaged needs --print: packages install their own files"}
	}
	f.scope = manager.User
	if f.system {
		f.scope = manager.System
	}
	return nil
}

// here refuses a manager that this system does not have.
func (f *installFlags) here() error {
	want := map[string]string{manager.Systemd: "linux", manager.Launchd: "darwin", manager.WindowsTask: "windows"}[f.manager]
	if want != f.goos {
		return &turn.UsageError{Problem: fmt.Sprintf("%s is a service manager of %s, not of %s: --print shows the unit all the same", f.manager, want, f.goos)}
	}
	return nil
}

func (a *app) uninstallCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop what install has started, and take its unit away",
		Long: `Stops the unit of this home, which is an ordered stop of everything that run keeps up, and removes its file. A file that
install did not write is left alone, and so is one whose manager cannot say that it has been stopped. No state is removed:
open turns wait for the next run.`,
		Example: `  hermes-supervisor uninstall systemd`,
		Args:    unknownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for kind, short := range map[string]string{
		manager.Systemd: "Take away what install systemd made", manager.Launchd: "Take away what install launchd made",
		manager.WindowsTask: "Take away what install windows-task made",
	} {
		f := &installFlags{manager: kind, goos: runtime.GOOS}
		one := &cobra.Command{
			Use: kind, Short: short, Long: short + ": stops it in order, and removes its file. Doing it again changes nothing.",
			Example: "  hermes-supervisor uninstall " + kind, Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				if err := cmp.Or(f.check(), f.here()); err != nil {
					return err
				}
				return a.uninstall(cmd.Context(), f)
			},
		}
		f.scopes(one)
		cmd.AddCommand(one)
	}
	return cmd
}
