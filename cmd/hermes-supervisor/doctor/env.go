package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/cmd/hermes-supervisor/hooks"
	"hermes-supervisor/cmd/hermes-supervisor/manager"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/turn"
)

// Env is the world that the checks look at: everything has its root here, so that a test can plant what it likes.
type Env struct {
	Now      time.Time
	Home     fsstate.Home
	HomeErr  error // why there is no Home
	UserHome string
	User     string // its name
	UID      int    // -1 where there is no such thing

	Config    config.Config
	ConfigErr error
	Source    config.Source

	// Program is how a person calls this program, HomeFlag the --home of this call ("" without one), and Flags its other
	// global flags.
	Program  string
	HomeFlag string
	Flags    []string
	// LockTry is the command line of the second process of the lock test, before the file's path: it prints HELD, FREE or
	// UNKNOWN.
	LockTry []string
	Unsafe  bool // --unsafe-filesystem

	Roots    manager.Roots
	Proc     string // "/proc", "" where there is none
	LookPath func(program string) (string, error)
	Environ  []string // of the agents that are asked for their version

	FileSystem func(path string) (trusted bool, name string, err error)
	Space      func(path string) (Space, error)
	Writable   func(path string) error // whether this process may write in a folder

	// Run is how the run of the home stands, as a probe is told.
	Run func() (Life, error)
	// Places are the homes: that one and, where it is the root, its profiles. Called once, by whoever comes first.
	Places func() []Place
	// Target is where the hooks of an agent go, as `hooks` has it.
	Target func(agent string) (hooks.Target, error)
}

// Place is one home, open for reading.
type Place struct {
	Home  fsstate.Home
	Store *fsstate.Store // nil: it has not been used, or Err
	Err   error          // why it could not be opened
	Room  *turn.Room
	Queue *handoff.Queue
}

// Life is how a run stands that has named itself.
type Life struct {
	PID    int
	Lives  bool
	Text   string
	Remedy string // "" where it lives, or is gone
}

// Space is what is free where a path lies.
type Space struct {
	Free  uint64 // bytes
	Files uint64 // more files that can be made; meaningless where Total is 0
	Total uint64 // files that can be there at all, 0 where the file system has no such bound
}

// Checks are all of them, in the order of the report.
func Checks() []Check {
	return []Check{
		{Name: "home", Look: lookAtHome},
		{Name: "permissions", Look: lookAtPermissions},
		{Name: "filesystem", Look: lookAtFileSystem},
		{Name: "locks", Look: ofState(lookAtLocks), Limit: 15 * time.Second},
		{Name: "configuration", Look: lookAtConfiguration},
		{Name: "key", Look: lookAtKey},
		{Name: "inotify", Look: lookAtInotify},
		{Name: "clock", Look: lookAtClock},
		{Name: "agents", Look: lookAtAgents, Limit: 15 * time.Second},
		{Name: "hooks", Look: lookAtHooks},
		{Name: "supervisor", Look: lookAtSupervisor},
		{Name: "manager", Look: lookAtManager},
		{Name: "services", Look: lookAtServices},
		{Name: "turns", Look: ofState(lookAtTurns)},
		{Name: "handoffs", Look: ofState(lookAtHandoffs)},
		{Name: "records", Look: ofState(lookAtRecords)},
		{Name: "leftovers", Look: ofState(lookAtLeftovers)},
		{Name: "journal", Look: ofState(lookAtJournal)},
	}
}

// ofState does not let a check call well what it could not open. Why that is, the permissions say.
func ofState(look func(context.Context, Env) []Finding) func(context.Context, Env) []Finding {
	return func(ctx context.Context, e Env) []Finding {
		if len(e.used()) == 0 && slices.ContainsFunc(e.Places(), func(p Place) bool { return p.Err != nil }) {
			return ok("not looked at: the state cannot be opened")
		}
		return look(ctx, e)
	}
}

// call is a command of this program in the home in force, for a shell.
func (e Env) call(args ...string) string { return e.callIn(e.HomeFlag, args) }

// in is call in the home of a place.
func (e Env) in(p Place, args ...string) string {
	if p.Home.Path == e.Home.Path {
		return e.call(args...)
	}
	return e.callIn(p.Home.Path, args)
}

func (e Env) callIn(home string, args []string) string {
	line := []string{e.Program}
	if home != "" {
		line = append(line, "--home", home)
	}
	return hooks.ShellLine(slices.Concat(line, e.Flags, args))
}

// key is a session's key for a command line; KEY where it cannot be typed.
func key(session string) string {
	if session == "" || session[0] == '-' || len(session) > 200 || strings.ContainsFunc(session, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "KEY"
	}
	return session
}

// sh is a command line of the system's, for a shell.
func sh(argv ...string) string { return hooks.ShellLine(argv) }

// edit is the command that opens a file.
func edit(path string) string { return "${EDITOR:-vi} " + sh(path) }

// aside is the command that takes what should not be there out of the way.
func aside(path string) string { return sh("mv", "--", path, path+".old") }

// used are the places that hold state.
func (e Env) used() []Place {
	var used []Place
	for _, p := range e.Places() {
		if p.Store != nil {
			used = append(used, p)
		}
	}
	return used
}

// at says which profile a line is about, where it is not the home in force.
func (e Env) at(p Place) string {
	if p.Home.Path == e.Home.Path || p.Home.Profile == "" {
		return ""
	}
	return "profile " + p.Home.Profile + ": "
}

// unsafe is a finding of what the store refuses.
func (p Place) unsafe(err error) Finding {
	if u, is := errors.AsType[*fsstate.UnsafeError](err); is {
		return problem(u.Path+" "+u.Problem, mend(u.Path, p.Home.Path))
	}
	return problem(err.Error(), sh("chmod", "-R", "u+rwX", filepath.Join(p.Home.Path, "supervisor")))
}

// mend is the command for a file or folder that is not plainly ours: it makes it ours, takes away what holds nothing, or
// puts it into the folder out, where nobody takes it for state.
func mend(path, out string) string {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return sh("ls", "-ld", path)
	case !info.IsDir() && !info.Mode().IsRegular():
		return sh("rm", "--", path)
	case !owned(info):
		return `sudo chown -R "$(id -un)" ` + sh(path)
	case info.Mode().Perm()&othersWrite != 0:
		return sh("chmod", "go-w", path)
	case info.IsDir():
		return sh("ls", "-ld", path)
	case linked(info):
		return sh("cp", "-p", "--", path, path+".copy") + " && " + sh("mv", "-f", "--", path+".copy", path)
	}
	return sh("mv", "--", path, out+string(filepath.Separator))
}

const othersWrite fs.FileMode = 0o022

// existing is a path, or the nearest folder above it that is there.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}
