package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/cmd/hermes-supervisor/doctor"
	"hermes-supervisor/cmd/hermes-supervisor/hooks"
	"hermes-supervisor/cmd/hermes-supervisor/manager"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/turn"
)

// TestMain lets the test binary be the second process of the lock test, and one whose locks lie.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case "lock-try":
			fmt.Fprintln(os.Stdout, ident.ProbeWitness(os.Args[2]))
			return
		case "lock-lies":
			fmt.Fprintln(os.Stdout, ident.WitnessFree)
			return
		case "lock-fails":
			os.Exit(3)
		}
	}
	// A program built with -race else waits a second before it exits, and each look starts two.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// world is a healthy home that somebody has used, with everything that a doctor looks at in folders of the test.
type world struct {
	t    *testing.T
	dir  string // all of it
	home string
	user string // the user's own folder
	bin  string // PATH
	toml string
	key  []byte

	store *fsstate.Store
	now   time.Time
	flag  string // --home
	id    string // of the handoff that was planted
	// change is made to the Env before a look.
	change func(e *doctor.Env)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, user: filepath.Join(dir, "user"), bin: filepath.Join(dir, "bin"), now: time.Now().Round(0)}
	w.home = filepath.Join(w.user, ".hermes")
	w.flag = w.home
	config := filepath.Join(w.user, ".config", "hermes-supervisor")
	w.toml = filepath.Join(config, "hermes.toml")
	for _, dir := range []string{w.home, w.bin, config, filepath.Join(dir, "linger"), filepath.Join(dir, "units"), filepath.Join(dir, "proc", "sys", "fs", "inotify")} {
		w.must(os.MkdirAll(dir, 0o700))
	}
	w.write("proc/sys/fs/inotify/max_user_instances", "128\n")
	w.write("proc/sys/fs/inotify/max_user_watches", "65536\n")
	w.write("proc/stat", fmt.Sprintf("cpu 1 2 3\nbtime %d\n", w.now.Add(-time.Hour).Unix()))
	w.program("claude", `echo "2.1.197 (Claude Code)"`)
	w.key, err = fsstate.LoadKey(config)
	w.must(err)
	w.store, err = fsstate.Open(fsstate.Home{Path: w.home, Root: w.home}, fsstate.Options{UnsafeFilesystem: true})
	w.must(err)
	t.Cleanup(func() { w.store.Close() })
	w.must(w.store.Journal(fsstate.Event{Kind: "turn", To: "running"}))
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// path is a path below the world's folder.
func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

// state is a path below supervisor/.
func (w *world) state(name string) string {
	return filepath.Join(w.home, "supervisor", filepath.FromSlash(name))
}

func (w *world) write(name, text string) { w.writeAt(w.path(name), text) }

func (w *world) writeAt(path, text string) {
	w.t.Helper()
	w.must(os.MkdirAll(filepath.Dir(path), 0o700))
	w.must(os.WriteFile(path, []byte(text), 0o600))
}

// old makes a file of the state as it was a while ago.
func (w *world) old(name string, age time.Duration) {
	w.t.Helper()
	path := w.state(name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		w.writeAt(path, "{}")
	}
	w.must(os.Chtimes(path, time.Time{}, w.now.Add(-age)))
}

// program puts a shell script into PATH.
func (w *world) program(name, script string) {
	w.t.Helper()
	path := filepath.Join(w.bin, name)
	w.must(os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
}

func (w *world) lookPath(program string) (string, error) {
	if !strings.Contains(program, "/") {
		program = filepath.Join(w.bin, program)
	}
	return exec.LookPath(program)
}

func (w *world) getenv(name string) string {
	if name == "HOME" {
		return w.user
	}
	return ""
}

// env is what the doctor sees now.
func (w *world) env() doctor.Env {
	w.t.Helper()
	self, err := os.Executable()
	w.must(err)
	e := doctor.Env{
		Now: w.now, UserHome: w.user, User: "ada", UID: os.Getuid(),
		Program: "hermes-supervisor", LockTry: []string{self, "lock-try"}, Proc: w.path("proc"), LookPath: w.lookPath,
		Environ:    []string{"PATH=/usr/bin:/bin"},
		FileSystem: func(string) (bool, string, error) { return true, "ext", nil },
		Space: func(string) (doctor.Space, error) {
			return doctor.Space{Free: 50 << 30, Files: 1 << 20, Total: 1 << 21}, nil
		},
		Writable: doctor.MayWrite,
		Roots:    manager.Roots{SystemdUser: []string{w.path("units")}, Linger: w.path("linger"), UserHome: w.user},
	}
	e.Home, e.HomeErr = fsstate.ResolveHome(w.flag, w.getenv, w.user)
	e.Source = config.Source{Path: w.toml, Dir: filepath.Dir(w.toml)}
	e.Config, e.ConfigErr = config.Load(e.Source)
	e.Target = func(name string) (hooks.Target, error) {
		agent, err := e.Config.Agent(name)
		if err != nil {
			return hooks.Target{}, err
		}
		return hooks.Target{
			Agent: name, Hooks: *agent.Hooks, Path: agent.Hooks.Places(w.getenv, w.user, w.home)[0],
			Command: []string{"/usr/bin/hermes-supervisor", "hook", name},
		}, nil
	}
	e.Run = func() (doctor.Life, error) { return doctor.Life{Text: "run is down"}, nil }
	if w.change != nil {
		w.change(&e)
	}
	places := w.places(e)
	e.Places = func() []doctor.Place { return places }
	return e
}

func (w *world) places(e doctor.Env) []doctor.Place {
	if e.HomeErr != nil {
		return nil
	}
	p := doctor.Place{Home: e.Home}
	p.Store, p.Err = fsstate.OpenRead(e.Home)
	if p.Err != nil {
		p.Store = nil
		if errors.Is(p.Err, fs.ErrNotExist) {
			p.Err = nil
		}
		return []doctor.Place{p}
	}
	w.t.Cleanup(func() { p.Store.Close() })
	key, err := fsstate.ReadKey(e.Source.Dir)
	if err != nil {
		key = nil
	}
	p.Room = &turn.Room{
		Store: p.Store, Key: key, Settings: policy.Settings{Enabled: true, Freshness: 15 * time.Minute, MaxAttempts: 2},
		Agents: func(name string) (turn.Agent, bool) { return turn.Agent{Name: name}, name == "claude" },
	}
	p.Queue = &handoff.Queue{
		Files: fsstate.HandoffFiles{Store: p.Store, Key: key}, Room: p.Room,
		Platform: func(name string) (handoff.Platform, error) {
			_, err := e.Config.Platform(name)
			return handoff.Platform{Command: []string{"true"}}, err
		},
	}
	return []doctor.Place{p}
}

// look makes all checks and gives what is not ok.
func (w *world) look() []doctor.Finding {
	w.t.Helper()
	var bad []doctor.Finding
	for _, f := range doctor.Run(context.Background(), w.env(), doctor.Checks(), nil) {
		if f.Status != doctor.OK {
			bad = append(bad, f)
		}
	}
	return bad
}

// mend runs a remedy as a person would.
func (w *world) mend(remedy string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "/bin/sh", "-c", remedy)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + w.user}
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v\n%s", remedy, err, out)
	}
}

// turn makes an open turn whose owner is gone.
func (w *world) turn(session string, change func(t *fsstate.Turn)) {
	w.t.Helper()
	t := &fsstate.Turn{
		Session: session, Phase: fsstate.PhaseRunning, Prompt: "Fix it", Agent: "claude", AutoContinue: true, Verified: true,
		StartedAt: w.now.Add(-time.Minute), Keeper: gone(), Owner: gone(),
	}
	if change != nil {
		change(t)
	}
	files := fsstate.TurnFiles{Store: w.store, Key: w.key}
	w.must(files.Put(t))
}

// gone is a process of this boot that is no more.
func gone() ident.Ident {
	id, err := ident.Self(ident.NewInstance())
	if err != nil {
		panic(err)
	}
	id.Start--
	return id
}

// snapshot is every path of the world with its mode and size: what a doctor must leave as it is.
func (w *world) snapshot() string {
	w.t.Helper()
	var b strings.Builder
	w.must(filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size := info.Size()
		if d.IsDir() {
			size = 0
		}
		fmt.Fprintf(&b, "%s %s %d\n", path, info.Mode(), size)
		return nil
	}))
	return b.String()
}
