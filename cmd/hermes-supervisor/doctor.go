package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/cmd/hermes-supervisor/doctor"
	"hermes-supervisor/cmd/hermes-supervisor/hooks"
	"hermes-supervisor/cmd/hermes-supervisor/manager"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look for what keeps turns, services and handoffs from working, and say what mends it",
		Long: `Looks at the home, its permissions, file system and locks, hermes.toml and the key, the system's limits and clock, the agents
and their versions, the hooks, the service manager, and what is recorded: one line for each, ok, warning or problem, and
the command that mends what is not ok. It changes nothing (a second process tries a lock on a file that is removed again),
but runs each agent with --version, and some then write files of their own (Hermes a log in ~/.hermes). A check that hangs
is left behind after some seconds.

A warning is no problem. The order of the lines is always the same.`,
		Example: `  hermes-supervisor doctor
  hermes-supervisor doctor --json | jq -r '.findings[] | select(.status != "ok") | .remedy'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

// lookWait bounds what has to be known before anything can be checked: a home on a dead network file system hangs there.
const lookWait = 10 * time.Second

func (a *app) doctor(ctx context.Context) error {
	known := make(chan doctor.Env, 1)
	go func() { known <- a.patient() }()
	var e doctor.Env
	select {
	case e = <-known:
	case <-time.After(lookWait):
		return fmt.Errorf("look at the home and hermes.toml: no answer within %s: a file system hangs (see mount)", lookWait)
	}
	var slow func([]string)
	if process.IsTerminal(a.stderr) {
		slow = func(names []string) { a.say("still looking at: %s", strings.Join(names, ", ")) }
	}
	return a.printFindings(doctor.Run(ctx, e, doctor.Checks(), slow))
}

// patient is this system as the doctor looks at it.
func (a *app) patient() doctor.Env {
	e := doctor.Env{
		Now: time.Now().Round(0), UID: os.Getuid(), Unsafe: a.unsafe, Environ: os.Environ(), LookPath: exec.LookPath,
		FileSystem: fsstate.FileSystem, Space: doctor.SpaceOf, Writable: doctor.MayWrite, Target: func(name string) (hooks.Target, error) { return a.target(name, "") },
		Program: "hermes-supervisor", HomeFlag: a.home,
	}
	if runtime.GOOS == "linux" {
		e.Proc = "/proc"
	}
	e.UserHome, _ = os.UserHomeDir() // "": then nothing below it is looked at
	e.Roots = manager.DefaultRoots(runtime.GOOS, os.Getenv, e.UserHome)
	if u, err := user.Current(); err == nil {
		e.User = u.Username
	}
	if program, err := ownPath(); err == nil {
		e.LockTry = []string{program, "lock-try"}
		if named, _ := exec.LookPath(e.Program); named != program {
			e.Program = program
		}
	}
	if a.config != "" {
		e.Flags = append(e.Flags, "--config", a.config)
	}
	if a.unsafe {
		e.Flags = append(e.Flags, "--unsafe-filesystem")
	}
	e.Home, e.HomeErr = a.resolveHome()
	e.Config, e.Source, e.ConfigErr = a.load(config.Load)
	e.Run = func() (doctor.Life, error) {
		l, err := livenessOf(e.Home, e.Now)
		return doctor.Life{PID: l.pid, Lives: l.lives, Text: l.text, Remedy: l.mend}, err
	}
	e.Places = sync.OnceValue(func() []doctor.Place { return a.placesOf(e) })
	return e
}

// placesOf are the homes, open for reading: nothing is made in them.
func (a *app) placesOf(e doctor.Env) []doctor.Place {
	if e.HomeErr != nil {
		return nil
	}
	key, err := fsstate.ReadKey(e.Source.Dir)
	if err != nil || e.Source.Dir == "" {
		key = nil
	}
	var places []doctor.Place
	for _, home := range homesBelow(e.Home) {
		p := doctor.Place{Home: home}
		p.Store, p.Err = fsstate.OpenRead(home)
		if errors.Is(p.Err, fs.ErrNotExist) {
			p.Store, p.Err = nil, nil
		}
		if p.Store != nil {
			r := &room{config: e.Config, Room: &turn.Room{Store: p.Store, Key: key, Settings: settingsOf(e.Config)}}
			r.Agents = r.named
			p.Room, p.Queue = r.Room, a.queueOf(r)
		}
		places = append(places, p)
	}
	return places
}

// printFindings prints a line for each finding, and below it the command that mends it.
func (a *app) printFindings(report []doctor.Finding) error {
	counts := map[doctor.Status]int{}
	for _, f := range report {
		counts[f.Status]++
	}
	if counts[doctor.Problem] > 0 {
		a.code = exitFailed
	}
	if a.json {
		return a.printJSON(map[string]any{
			"status": doctor.Worst(report), "problems": counts[doctor.Problem], "warnings": counts[doctor.Warning], "findings": report,
		})
	}
	var b strings.Builder
	for _, f := range report {
		fmt.Fprintf(&b, "%-8s %-14s %s\n", f.Status, f.Check, f.Text)
		if f.Remedy != "" {
			fmt.Fprintf(&b, "%-23s mend: %s\n", "", f.Remedy)
		}
	}
	if bad := counts[doctor.Problem] + counts[doctor.Warning]; bad > 0 {
		fmt.Fprintf(&b, "\nproblems: %d, warnings: %d\n", counts[doctor.Problem], counts[doctor.Warning])
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}

// lockTryCommand is the second process of the lock test: what it says of the lock of a file is one word on its stdout.
func (a *app) lockTryCommand() *cobra.Command {
	return &cobra.Command{
		Use: "lock-try FILE", Short: "The second process of doctor's lock test: say whether the lock of a file is held", Hidden: true,
		Example: "  hermes-supervisor lock-try /home/me/.hermes/supervisor/tmp/doctor", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !filepath.IsAbs(args[0]) {
				return &turn.UsageError{Problem: "lock-try takes an absolute path"}
			}
			_, err := fmt.Fprintln(a.stdout, ident.ProbeWitness(args[0]))
			return err
		},
	}
}
