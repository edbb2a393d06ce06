package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
)

// serviceRecord reads a service's record and the state in it; nil where there is none that is whole.
func serviceRecord(ts *testscript.TestScript, name string) (*fsstate.Service, phase.State) {
	home := ts.Getenv("HERMES_HOME")
	if base, profile, of := strings.Cut(name, "@"); of {
		name, home = base, filepath.Join(home, "profiles", profile)
	}
	store, err := fsstate.OpenRead(fsstate.Home{Path: home, Root: home})
	if err != nil {
		return nil, phase.State{}
	}
	defer store.Close()
	var s phase.State
	rec, err := fsstate.ServiceFiles{Store: store}.Get(name)
	if err != nil || json.Unmarshal(rec.State, &s) != nil {
		return nil, s
	}
	return rec, s
}

// waitService NAME[@PROFILE] PHASE [LAUNCH] waits until the service is in that phase, and of that launch or a later one.
func waitService(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && (len(args) == 2 || len(args) == 3), "waitservice NAME[@PROFILE] PHASE [LAUNCH]")
	var least int64
	if len(args) == 3 {
		ts.Check(json.Unmarshal([]byte(args[2]), &least))
	}
	var last phase.State
	err := within(patience, func() (bool, error) {
		rec, s := serviceRecord(ts, args[0])
		last = s
		return rec != nil && s.Phase.String() == args[1] && s.Launch >= least, nil
	})
	if err != nil {
		ts.Fatalf("service %s in phase %s: %v; it is %s (%s), launch %d", args[0], args[1], err, last.Phase, last.Reason, last.Launch)
	}
}

// waitSupervised NAME waits until a living supervisor has the service.
func waitSupervised(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "waitsupervised NAME")
	ts.Check(within(patience, func() (bool, error) {
		rec, _ := serviceRecord(ts, args[0])
		return rec != nil && ident.Check(rec.Supervisor) == ident.Alive, nil
	}))
}

// killService NAME process|supervisor kills what the record names, and waits until it is gone.
func killService(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "killservice NAME process|supervisor")
	rec, _ := serviceRecord(ts, args[0])
	if rec == nil {
		ts.Fatalf("service %s has no record", args[0])
	}
	id := rec.Process
	if args[1] == "supervisor" {
		id = rec.Supervisor
	}
	if ident.Check(id) != ident.Alive { // a recycled pid is somebody else's
		ts.Fatalf("%s of service %s, pid %d, does not live", args[1], args[0], id.PID)
	}
	p, err := os.FindProcess(id.PID)
	ts.Check(err)
	ts.Check(p.Kill())
	ts.Check(within(patience, func() (bool, error) { return ident.Check(id) == ident.Dead, nil }))
}

// pidOf NAME VARIABLE puts the pid that the record names into a variable.
func pidOf(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "pidof NAME VARIABLE")
	rec, _ := serviceRecord(ts, args[0])
	if rec == nil || rec.Process.PID == 0 {
		ts.Fatalf("service %s has no process on record", args[0])
	}
	text, err := json.Marshal(rec.Process.PID)
	ts.Check(err)
	ts.Setenv(args[1], string(text))
}
