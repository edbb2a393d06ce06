package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/phase"
)

// lookAtServices: programs that are not there, services that were given up or crash again and again.
func lookAtServices(_ context.Context, e Env) []Finding {
	var found []Finding
	for _, s := range e.Config.Services {
		program := s.Command[0]
		if _, own := s.Env["PATH"]; own || strings.ContainsAny(program, "${") {
			continue // where it is looked for is only known to who starts it
		}
		if _, err := e.LookPath(program); err != nil {
			found = append(found, e.missingProgram("service "+s.Name, program, err))
		}
	}
	found = append(found, e.foldersOfServices()...)
	found = append(found, e.notices()...)
	for _, name := range slices.Sorted(maps.Keys(e.Config.Handoff.Platforms)) {
		p := e.Config.Handoff.Platforms[name]
		if len(p.Command) == 0 {
			continue
		}
		if _, err := e.LookPath(p.Command[0]); err != nil {
			found = append(found, e.missingProgram("platform "+name, p.Command[0], err))
		}
	}
	records := 0
	for _, p := range e.used() {
		all, _ := fsstate.ServiceFiles{Store: p.Store, Key: e.key()}.All() // bad ones are the business of another check
		for _, rec := range all {
			records++
			found = append(found, e.serviceState(p, rec)...)
		}
	}
	return orOK(bounded(found), "%s configured, %s on record", count(len(e.Config.Services), "service"), count(records, "service"))
}

// foldersOfServices are those in which services are to run and which are not there: they would be tried for ever.
func (e Env) foldersOfServices() (found []Finding) {
	for _, s := range e.Config.Services {
		if strings.Contains(s.Cwd, "{{") {
			continue // it is a home's
		}
		if _, err := os.Stat(s.Cwd); errors.Is(err, fs.ErrNotExist) {
			found = append(found, problem(fmt.Sprintf("service %s: its cwd %s is not there", s.Name, s.Cwd), sh("mkdir", "-p", "--", s.Cwd)))
		}
	}
	return found
}

// notices are what [notify] and [metrics] count on; without it nobody is told, and what is missing is in run's log alone.
func (e Env) notices() (found []Finding) {
	if command := e.Config.Notify.Command; len(command) > 0 {
		if _, err := e.LookPath(command[0]); err != nil {
			found = append(found, e.missingProgram("notify", command[0], err))
		}
	}
	if file := e.Config.Metrics.Textfile; file != "" {
		folder := filepath.Dir(file)
		err := e.Writable(folder)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			found = append(found, problem(fmt.Sprintf("metrics: the folder of textfile, %s, is not there", folder), sh("mkdir", "-p", "--", folder)))
		case err != nil:
			found = append(found, problem(fmt.Sprintf("metrics: the folder of textfile, %s, cannot be written: %v", folder, err), edit(e.Source.Path)))
		}
	}
	return found
}

func (e Env) missingProgram(what, program string, err error) Finding {
	if filepath.IsAbs(program) && errors.Is(err, fs.ErrPermission) {
		return problem(fmt.Sprintf("%s: %v", what, err), sh("chmod", "u+x", program))
	}
	if install := installs[program]; install != "" {
		return problem(fmt.Sprintf("%s: its program %s is not found", what, program), install)
	}
	return problem(fmt.Sprintf("%s: its program %s is not found", what, program), edit(e.Source.Path))
}

func (e Env) serviceState(p Place, rec *fsstate.Service) []Finding {
	var s phase.State
	if !rec.Verified || json.Unmarshal(rec.State, &s) != nil {
		return nil
	}
	name := rec.Service
	if p.Home.Profile != "" && p.Home.Path != e.Home.Path {
		name += "@" + p.Home.Profile
	}
	start := e.call("start", name)
	switch {
	case s.Phase == phase.Parked:
		return []Finding{problem(fmt.Sprintf("service %s is parked: %s%s", name, s.Reason.Text(), lastWords(s)), start)}
	case s.Phase == phase.Waiting && s.Reason == phase.ReasonCrashLoop:
		return []Finding{problem(fmt.Sprintf("service %s: %s%s", name, s.Reason.Text(), lastWords(s)), e.call("logs", name))}
	case s.Up && s.Ended():
		return []Finding{warning(fmt.Sprintf("service %s is down: %s%s", name, s.Reason.Text(), lastWords(s)), start)}
	}
	return nil
}

// lastWords is what the service said last, where it is known.
func lastWords(s phase.State) string {
	if s.Last == nil || s.Last.Reason == "" {
		return ""
	}
	return fmt.Sprintf(" (%.120s)", s.Last.Reason)
}
