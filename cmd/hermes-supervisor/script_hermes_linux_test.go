package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hermes-supervisor/fsstate/hermes"
	"hermes-supervisor/fsstate/ident"
)

// inHome runs a command of the script with another HERMES_HOME.
func inHome(ts *testscript.TestScript, home string, do func()) {
	before := ts.Getenv("HERMES_HOME")
	ts.Setenv("HERMES_HOME", ts.MkAbs(home))
	defer ts.Setenv("HERMES_HOME", before)
	do()
}

// killHome HOME NAME is killservice NAME process in another home.
func killHome(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "killhome HOME NAME")
	inHome(ts, args[0], func() {
		waitService(ts, false, []string{args[1], "running"})
		killService(ts, false, []string{args[1], "process"})
	})
}

// waitJournal HOME KIND SESSION|SERVICE [TO] waits for a line of the journal.
func waitJournal(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && (len(args) == 3 || len(args) == 4), "waitjournal HOME KIND SESSION|SERVICE [TO]")
	file := filepath.Join(ts.MkAbs(args[0]), "supervisor", "journal.jsonl")
	err := within(patience, func() (bool, error) {
		text, err := os.ReadFile(file)
		for line := range strings.SplitSeq(string(text), "\n") {
			of := strings.Contains(line, `"session":"`+args[2]+`"`) || strings.Contains(line, `"service":"`+args[2]+`"`)
			if of && strings.Contains(line, `"kind":"`+args[1]+`"`) && (len(args) == 3 || strings.Contains(line, `"to":"`+args[3]+`"`)) {
				return true, nil
			}
		}
		if os.IsNotExist(err) {
			err = nil
		}
		return false, err
	})
	if err != nil {
		text, _ := os.ReadFile(file)
		ts.Fatalf("no %s of %s: %v\n%s", args[1], args[2], err, text)
	}
}

// checkSecret HOME looks for the secrets of launches: they are in their own files, which only the user can read.
func checkSecret(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "secret HOME")
	root := ts.MkAbs(args[0])
	secrets := map[string]string{}
	texts := map[string][]byte{}
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if texts[path], err = os.ReadFile(path); err != nil || filepath.Ext(path) != ".secret" {
			return err
		}
		secrets[path] = string(texts[path])
		info, err := d.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			ts.Fatalf("%s: mode %v", path, info.Mode())
		}
		return err
	}))
	earlier := filepath.Join(ts.Getenv("WORK"), "secrets") // of launches that are over by now
	old, _ := os.ReadFile(earlier)
	all := strings.Fields(string(old))
	for _, s := range secrets {
		all = append(all, s)
	}
	if len(all) == 0 {
		ts.Fatalf("no launch had a secret")
	}
	ts.Check(os.WriteFile(earlier, []byte(strings.Join(all, "\n")), 0o600))
	for path, text := range texts {
		for _, s := range all {
			if secrets[path] != s && bytes.Contains(text, []byte(s)) {
				ts.Fatalf("%s has the secret of a launch", path)
			}
		}
	}
}

// leaveMarker HOME SESSION PROMPT [FILE] leaves an open turn, of a writer that is gone, or of the process whose pid is in the file.
func leaveMarker(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && (len(args) == 3 || len(args) == 4), "marker HOME SESSION PROMPT [FILE]")
	m := hermes.Marker{Session: args[1], Prompt: args[2], AutoContinue: true, HasWriter: true, WriterStart: 1}
	var err error
	if len(args) == 4 {
		m.WriterPID, err = strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[3])))
		ts.Check(err)
		m.WriterStart, err = ident.Created(m.WriterPID)
	} else {
		gone := exec.Command("true")
		err = gone.Run()
		m.WriterPID = gone.Process.Pid
	}
	ts.Check(err)
	ts.Check(hermes.RecordMarker(ts.MkAbs(args[0]), m, time.Now()))
}

// waitOwnerGone SESSION waits until the agent that the session's marker names has ended.
func waitOwnerGone(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "waitownergone SESSION")
	t := marker(ts, args[0])
	if t == nil {
		ts.Fatalf("session %s has no open turn", args[0])
	}
	ts.Check(within(patience, func() (bool, error) { return ident.Check(t.Owner) == ident.Dead, nil }))
}

// systemCommands are what only scripts about Hermes need, whose fakes are told by their ticks.
var systemCommands = map[string]func(*testscript.TestScript, bool, []string){
	"killhome": killHome, "waitjournal": waitJournal, "secret": checkSecret, "marker": leaveMarker,
	"waitownergone": waitOwnerGone,
}
