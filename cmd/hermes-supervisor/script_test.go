package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

// TestScripts runs testdata/script: one promise of the command line each. HERMES_HOME is $WORK/home, the user's own
// folder $WORK/user.
func TestScripts(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts end processes by signals")
	}
	exits := filepath.Join(t.TempDir(), "exits")
	t.Cleanup(func() { checkExits(t, exits) })
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv(exitsVar, exits)
			return setUp(env)
		},
		Cmds: withSystem(map[string]func(*testscript.TestScript, bool, []string){
			"waitfile":   waitFile,
			"waitmarker": waitMarker,
			"waitgone":   waitGone,
			"killmarker": killMarker,
			"json":       checkJSON,
			"waitjson":   waitJSON,
			"waitlines":  waitLines,
			"files":      checkFiles,
			"lines":      checkLines,
			"bytes":      makeBytes,
			"fifo":       makeFIFO,

			"waitservice":    waitService,
			"waitsupervised": waitSupervised,
			"killservice":    killService,
			"pidof":          pidOf,

			"waithandoff": waitHandoff,
			"killhandoff": killHandoff,
			"jsonvar":     varJSON,

			"waitmetric": waitMetric,
			"waittold":   waitTold,
		}),
	})
}

// withSystem adds the commands that exist on this system only.
func withSystem(cmds map[string]func(*testscript.TestScript, bool, []string)) map[string]func(*testscript.TestScript, bool, []string) {
	maps.Copy(cmds, systemCommands)
	return cmds
}

func setUp(env *testscript.Env) error {
	user := filepath.Join(env.WorkDir, "user")
	env.Setenv("HOME", user)
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(user, ".config"))
	env.Setenv("HERMES_HOME", filepath.Join(env.WorkDir, "home"))
	// A program built with -race else waits a second before it exits, and a script runs dozens.
	env.Setenv("GORACE", "atexit_sleep_ms=0")
	// Session keys that no script can write down.
	env.Setenv("KEY_LINES", "one\ntwo\x1b[31m")
	env.Setenv("KEY_LONG", strings.Repeat("k", 10_000))
	env.Setenv("KEY_BINARY", "caf\xe9")
	for _, dir := range []string{user, filepath.Join(env.WorkDir, "home")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	// The files of a script get the umask's mode, and a configuration that others may write is refused.
	return filepath.WalkDir(env.WorkDir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()&^0o022)
	})
}

// usage fails a script that calls a command wrongly.
func usage(ts *testscript.TestScript, ok bool, text string) {
	if !ok {
		ts.Fatalf("usage: %s", text)
	}
}

// waitFile FILE waits until the file is there.
func waitFile(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "waitfile FILE")
	ts.Check(stepAwait([]string{ts.MkAbs(args[0])}))
}

// marker reads the open turn of a session; nil where there is none, or none that is whole.
func marker(ts *testscript.TestScript, session string) *fsstate.Turn {
	home := ts.Getenv("HERMES_HOME")
	store, err := fsstate.OpenRead(fsstate.Home{Path: home, Root: home})
	if err != nil {
		return nil
	}
	defer store.Close()
	t, err := fsstate.TurnFiles{Store: store}.Get(session)
	if err != nil {
		return nil
	}
	return t
}

// waitMarker SESSION PHASE [ATTEMPT] waits until the session's turn is in that phase, and of that attempt.
func waitMarker(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && (len(args) == 2 || len(args) == 3), "waitmarker SESSION PHASE [ATTEMPT]")
	err := within(patience, func() (bool, error) {
		t := marker(ts, args[0])
		return t != nil && t.Phase == args[1] && (len(args) == 2 || strconv.Itoa(t.Attempts) == args[2]), nil
	})
	if err != nil {
		ts.Fatalf("session %s in phase %s: %v", args[0], args[1], err)
	}
}

// waitGone SESSION waits until the session has no open turn.
func waitGone(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "waitgone SESSION")
	file := filepath.Join(ts.Getenv("HERMES_HOME"), "supervisor", "turns", fsstate.Name(args[0])+".json")
	err := within(patience, func() (bool, error) {
		_, err := os.Stat(file)
		return errors.Is(err, fs.ErrNotExist), nil
	})
	if err != nil {
		ts.Fatalf("end of session %s: %v", args[0], err)
	}
}

// killMarker [SIGNAL] SESSION owner|keeper sends a signal (KILL) to the process that the session's marker names, and
// after KILL waits until it is gone.
func killMarker(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && (len(args) == 2 || len(args) == 3), "killmarker [SIGNAL] SESSION owner|keeper")
	name := "KILL"
	if len(args) == 3 {
		name, args = args[0], args[1:]
	}
	t := marker(ts, args[0])
	if t == nil {
		ts.Fatalf("session %s has no open turn", args[0])
	}
	id := t.Owner
	if args[1] == "keeper" {
		id = t.Keeper
	}
	if ident.Check(id) != ident.Alive { // a recycled pid is somebody else's
		ts.Fatalf("%s of session %s, pid %d, does not live", args[1], args[0], id.PID)
	}
	p, err := os.FindProcess(id.PID)
	ts.Check(err)
	ts.Check(p.Signal(signals[name]))
	if name == "KILL" {
		ts.Check(within(patience, func() (bool, error) { return ident.Check(id) == ident.Dead, nil }))
	}
}

// checkJSON looks into a JSON document (FILE, stdout or stderr) along a path of names and indices:
//
//	json stdout turns.0.session = live
//	json stdout turns # 2           (as many elements)
//	! json stdout turns.0.agent_session
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 4 || len(args) == 2, "json FILE PATH [= VALUE | # LENGTH]")
	v, found := lookUp(ts, args[0], args[1])
	got := fmt.Sprint(v)
	if list, ok := v.([]any); ok && len(args) == 4 && args[2] == "#" {
		got = strconv.Itoa(len(list))
	}
	holds := found && (len(args) == 2 || got == args[3])
	if holds == neg {
		ts.Fatalf("%s in %s is %q (there: %v):\n%s", args[1], args[0], got, found, ts.ReadFile(args[0]))
	}
}

// varJSON FILE PATH VARIABLE puts what stands in a JSON document into a variable.
func varJSON(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 3, "jsonvar FILE PATH VARIABLE")
	v, found := lookUp(ts, args[0], args[1])
	if !found {
		ts.Fatalf("%s has no %s:\n%s", args[0], args[1], ts.ReadFile(args[0]))
	}
	ts.Setenv(args[2], fmt.Sprint(v))
}

// lookUp follows a path of names and indices into a JSON document.
func lookUp(ts *testscript.TestScript, file, path string) (v any, found bool) {
	if err := json.Unmarshal([]byte(ts.ReadFile(file)), &v); err != nil {
		ts.Fatalf("%s is not one JSON document: %v\n%s", file, err, ts.ReadFile(file))
	}
	found = true
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v, found = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if found = err == nil && i < len(in); found {
				v = in[i]
			}
		default:
			found = false
		}
		if !found {
			break
		}
	}
	return v, found
}

// checkFiles DIR N counts the files of a folder; a missing one has none.
func checkFiles(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "files DIR N")
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		ts.Check(err)
	}
	if strconv.Itoa(len(entries)) != args[1] {
		ts.Fatalf("%s has %d files, not %s: %v", args[0], len(entries), args[1], entries)
	}
}

// checkLines FILE N counts the lines of a file, stdout or stderr.
func checkLines(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "lines FILE N")
	text := ts.ReadFile(args[0])
	if n := strings.Count(text, "\n"); strconv.Itoa(n) != args[1] {
		ts.Fatalf("%s has %d lines, not %s:\n%s", args[0], n, args[1], text)
	}
}

// makeBytes FILE TEXT [TIMES] writes text with Go escapes, which a script's own files cannot hold.
func makeBytes(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && (len(args) == 2 || len(args) == 3), "bytes FILE TEXT [TIMES]")
	text, err := unescape(args[1])
	ts.Check(err)
	if len(args) == 3 {
		times, err := strconv.Atoi(args[2])
		ts.Check(err)
		text = strings.Repeat(text, times)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
