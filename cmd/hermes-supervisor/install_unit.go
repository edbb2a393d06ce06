package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/cmd/hermes-supervisor/manager"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/turn"
)

// installation is one unit, where it goes, and what its manager is told. Commands are argv, in their order.
type installation struct {
	manager, scope, name string
	path                 string
	text                 string
	start                [][]string // makes the manager know and run it; harmless where it does so already
	loaded               []string   // succeeds where the manager has it already, and would refuse start
	restart              string     // has one that runs begin anew, as a person types it
	stop                 [][]string // before the file goes; may fail where nothing of it runs, which ended tells
	ended                func(context.Context) bool
	forget               [][]string // after the file went
}

// bytes are what is in the file.
func (i installation) bytes() []byte {
	if i.manager == manager.WindowsTask {
		return manager.UTF16(i.text)
	}
	return []byte(i.text)
}

// roots are the folders of this system's service managers. Who installs for another user looks into that user's too, as far
// as the home tells whose it is.
func (f *installFlags) roots(home fsstate.Home) manager.Roots {
	user, _ := os.UserHomeDir() // "": then no folder of the user's
	getenv := os.Getenv
	if owner := filepath.Dir(home.Root); f.system && filepath.Base(home.Root) == ".hermes" && owner != user {
		user, getenv = owner, func(string) string { return "" }
	}
	return manager.DefaultRoots(f.goos, getenv, user)
}

// jobOf is what a unit for this home and configuration runs.
func (a *app) jobOf(ctx context.Context, f *installFlags, home fsstate.Home) (manager.Job, error) {
	as := ""
	if f.manager == manager.Systemd && f.system {
		var err error
		if as, err = a.systemUser(ctx, f); err != nil {
			return manager.Job{}, err
		}
	}
	cfg, source, err := a.loadConfig()
	if err != nil {
		return manager.Job{}, err
	}
	if err := nothingToRun(cfg, source, home, ownService{}); err != nil {
		none, profiles := noService(cfg, home)
		if profiles != "" {
			profiles = " and " + profiles
		}
		return manager.Job{}, &config.Error{File: cmp.Or(source.Path, "hermes.toml"), Problem: fmt.Sprintf("names %s, no agent and no platform, so that run would have nothing to do; for a gateway write [[service]] and preset = \"hermes-gateway\"%s into it", none, profiles)}
	}
	program, err := ownPath()
	if err != nil {
		return manager.Job{}, err
	}
	path, err := filepath.Abs(source.Path)
	if err != nil {
		return manager.Job{}, err
	}
	j := manager.Job{
		Program: program, Home: home.Path, Config: path, Search: manager.SearchPath(os.Getenv("PATH")), Unsafe: a.unsafe,
		Budget: manager.StopBudget(cfg),
	}
	switch f.manager {
	case manager.Systemd:
		j.RunAs = as
	case manager.Launchd:
		if user, err := os.UserHomeDir(); err == nil {
			j.Logs = filepath.Join(user, "Library", "Logs", unitName(f, home)+".log")
		}
	case manager.WindowsTask:
		j.Search = "" // a task has no environment of its own
		if name := os.Getenv("USERNAME"); name != "" {
			j.RunAs = strings.TrimPrefix(os.Getenv("USERDOMAIN")+`\`+name, `\`)
		}
	}
	if err := j.Check(f.manager); err != nil {
		return manager.Job{}, &turn.UsageError{Problem: err.Error()}
	}
	return j, nil
}

// systemUser is whom a unit of the machine's manager runs as. Another user's home and configuration are not guessed: those
// in force are root's.
func (a *app) systemUser(ctx context.Context, f *installFlags) (string, error) {
	self := currentUser(ctx)
	as := cmp.Or(f.runAs, os.Getenv("SUDO_USER"), self)
	switch {
	case as == "":
		return "", &turn.UsageError{Problem: "nobody knows who you are: name the user with --as"}
	case strings.ContainsAny(as, " \t%$\"'\\:/"):
		return "", &turn.UsageError{Problem: fmt.Sprintf("--as %.80q is no user's name", as)}
	case as != self && (cmp.Or(a.home, os.Getenv("HERMES_HOME")) == "" || cmp.Or(a.config, os.Getenv(config.Var)) == ""):
		return "", &turn.UsageError{Problem: fmt.Sprintf("the unit is to run as %s, and you are %s: name that user's home and configuration with --home and --config", as, cmp.Or(self, "somebody else"))}
	}
	if as != self { // run will read it as that user; here it is only looked at
		if out, err := exec.CommandContext(ctx, "id", "-u", "--", as).Output(); err == nil { //nolint:gosec // no shell, and no flag
			a.owner, _ = strconv.Atoi(strings.TrimSpace(string(out))) // 0: nobody
		}
	}
	return as, nil
}

// currentUser is the name of whoever calls, "" where nobody knows it. os/user would bring the C library into a program that
// does without it.
func currentUser(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "id", "-un").Output()
	if err != nil {
		return cmp.Or(os.Getenv("USER"), os.Getenv("LOGNAME"), os.Getenv("USERNAME"))
	}
	return strings.TrimSpace(string(out))
}

// unitName is the name of a home's unit, without a suffix.
func unitName(f *installFlags, home fsstate.Home) string {
	byDefault := ""
	user, err := os.UserHomeDir()
	if err == nil && f.scope == manager.User { // the machine's manager knows no default
		if h, err := fsstate.ResolveHome("", func(name string) string {
			if name == "HERMES_HOME" || name == "HERMES_SUPERVISED_CHILD" {
				return ""
			}
			return os.Getenv(name)
		}, user); err == nil {
			byDefault = h.Root
		}
	}
	return manager.Name(home, byDefault)
}

// installationOf is that of a home, without its text.
func (a *app) installationOf(f *installFlags, home fsstate.Home) (installation, error) {
	roots, name := f.roots(home), unitName(f, home)
	switch f.manager {
	case manager.Systemd:
		folders := roots.SystemdUser
		if f.system {
			folders = roots.SystemdSystem
		}
		if len(folders) == 0 || folders[0] == manager.AllUsersUnits {
			return installation{}, errNoFolder
		}
		return f.installed(name+".service", folders[0]), nil
	case manager.Launchd:
		if len(roots.LaunchAgents) == 0 {
			return installation{}, errNoFolder
		}
		return f.installed(manager.Label(name), roots.LaunchAgents[0]), nil
	default:
		_, source, err := a.loadConfig()
		if source.Dir == "" {
			return installation{}, cmp.Or(err, errNoFolder)
		}
		return f.installed(name, source.Dir), nil
	}
}

// installed is the unit of that name, as its manager has it, whose file is in the folder.
func (f *installFlags) installed(name, folder string) installation {
	i := installation{manager: f.manager, scope: f.scope, name: name}
	switch f.manager {
	case manager.Systemd:
		i.path = filepath.Join(folder, name)
		say := func(words ...string) []string { return append(i.systemctl(), words...) }
		i.start = [][]string{say("daemon-reload"), say("enable", "--now", name)}
		i.restart = shellLine([][]string{say("restart", name)})
		i.stop = [][]string{say("disable", "--now", name)}
		i.ended = func(ctx context.Context) bool { return inactive(ctx, say("show", "--property=ActiveState", name)) }
		i.forget = [][]string{say("daemon-reload")}
	case manager.Launchd:
		i.path = filepath.Join(folder, name+".plist")
		domain := "gui/" + strconv.Itoa(os.Getuid())
		i.start = [][]string{{"launchctl", "enable", domain + "/" + name}, {"launchctl", "bootstrap", domain, i.path}}
		i.stop = [][]string{{"launchctl", "bootout", domain + "/" + name}}
		i.loaded = []string{"launchctl", "print", domain + "/" + name}
		i.ended = func(ctx context.Context) bool { return fails(ctx, i.loaded) }
		i.restart = shellLine(append(i.stop, i.start[1]))
	case manager.WindowsTask:
		i.path = filepath.Join(folder, name+".xml")
		i.start = [][]string{{"schtasks", "/Create", "/F", "/TN", name, "/XML", i.path}, {"schtasks", "/Run", "/TN", name}}
		i.stop = [][]string{{"schtasks", "/End", "/TN", name}, {"schtasks", "/Delete", "/F", "/TN", name}}
		i.ended = func(ctx context.Context) bool { return fails(ctx, []string{"schtasks", "/Query", "/TN", name}) }
	}
	return i
}

// systemctl is how the unit's systemd is spoken to.
func (i installation) systemctl() []string {
	if i.scope == manager.System {
		return []string{"systemctl"}
	}
	return []string{"systemctl", "--user"}
}

// inactive asks systemd for a unit's state. One that cannot be asked has not said that nothing runs, unless it is not there.
func inactive(ctx context.Context, argv []string) bool {
	said, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	state := strings.TrimSpace(string(said))
	return errors.Is(err, exec.ErrNotFound) || err == nil && (state == "ActiveState=inactive" || state == "ActiveState=failed")
}

func fails(ctx context.Context, argv []string) bool {
	return exec.CommandContext(ctx, argv[0], argv[1:]...).Run() != nil
}

var errNoFolder = errors.New("install: the service manager's folder is not known (no HOME that is an absolute path)")

// unitText is the text of a job's unit.
func unitText(f *installFlags, j manager.Job, name string) string {
	switch f.manager {
	case manager.Systemd:
		return manager.SystemdUnit(j, f.system)
	case manager.Launchd:
		return manager.LaunchdPlist(j, name)
	default:
		return manager.TaskXML(j, name)
	}
}
