package main

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise"
	"hermes-supervisor/supervise/service"
	"hermes-supervisor/supervise/turn"
)

// The answers that `status --health` may be asked for.
const (
	healthLive  = "live"
	healthReady = "ready"
)

const healthHelp = `With --health it prints one line for a probe, writes nothing, and exits with 0 or 1: live (the default) when run lives and
its loop has turned within the last 90 s; ready when moreover everything that should be up is up. In a Kubernetes container:

    startupProbe:   {exec: {command: [hermes-supervisor, status, --health]}, failureThreshold: 30, periodSeconds: 1}
    livenessProbe:  {exec: {command: [hermes-supervisor, status, --health]}, periodSeconds: 10, timeoutSeconds: 5}
    readinessProbe: {exec: {command: [hermes-supervisor, status, --health=ready]}, periodSeconds: 5, timeoutSeconds: 5}

A service that crashes makes the container not ready, and never restarts it: run does that itself.`

// health answers a probe.
func (a *app) health(asked string) error {
	if asked != healthLive && asked != healthReady {
		return &turn.UsageError{Problem: fmt.Sprintf("--health is live or ready, not %.40q", asked)}
	}
	home, err := a.resolveHome()
	if err != nil {
		return err
	}
	run, err := livenessOf(home, time.Now())
	well, text := run.lives, run.text
	if well && err == nil && asked == healthReady {
		well, text, err = a.everythingIsUp(text)
	}
	if err != nil {
		return err
	}
	if !well {
		a.code = exitFailed
	}
	if a.json {
		return a.printJSON(map[string]any{"check": asked, "healthy": well, "text": text})
	}
	if !well {
		asked = "not " + asked
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s\n", asked, text)
	return err
}

// livenessOf tells whether the run of a home lives and its loop turns: its own, or that of the root home, which keeps the
// profiles too. It reads no configuration: what somebody writes there must not end a run that works.
func livenessOf(home fsstate.Home, now time.Time) (liveness, error) {
	found, err := runIn(home, now)
	if err == nil && !found.lives && home.Profile != "" {
		var root liveness
		root, err = runIn(fsstate.Home{Path: home.Root, Root: home.Root}, now)
		if root.lives || root.named && !found.named {
			found = root
		}
	}
	if err != nil {
		return liveness{}, err
	}
	return found, nil
}

// liveness is what is known of the run that is named in a home.
type liveness struct {
	named bool
	there bool // its process is not gone
	lives bool // and its loop turns
	pid   int
	text  string
	// mend is the command for one that is there and does not turn its loop. Killed, it leaves its services to the next.
	mend string
}

func runIn(home fsstate.Home, now time.Time) (liveness, error) {
	store, err := fsstate.OpenRead(home)
	if errors.Is(err, fs.ErrNotExist) {
		return liveness{text: "run was never started in this home"}, nil
	}
	if err != nil {
		return liveness{}, err
	}
	defer store.Close() //nolint:errcheck // a directory handle
	run, err := store.Supervisor()
	if errors.Is(err, fs.ErrNotExist) {
		return liveness{text: "run is down"}, nil
	}
	if err != nil {
		return liveness{}, err
	}
	who, age := fmt.Sprintf("run (pid %d)", run.Supervisor.PID), now.Round(0).Sub(run.Beat)
	found := service.JudgeSupervisor(store, run.Supervisor)
	l := liveness{named: true, there: found.Verdict != ident.Dead, pid: run.Supervisor.PID}
	end := fmt.Sprintf("kill -9 %d", l.pid)
	switch {
	case found.Verdict == ident.Dead:
		l.text = fmt.Sprintf("%s is gone: %s", who, found.Why)
	case ident.Stopped(run.Supervisor):
		l.text, l.mend = who+" is stopped by a signal; SIGCONT lets it go on", fmt.Sprintf("kill -CONT %d", l.pid)
	case run.Beat.IsZero():
		l.text, l.mend = who+" gives no sign of life", end
	case age > supervise.MaxBeatAge:
		l.text, l.mend = fmt.Sprintf("%s has not turned its loop for %s", who, span(age)), end
	case age < -supervise.MaxBeatAge:
		l.text, l.mend = fmt.Sprintf("%s last turned its loop in the future, in %s: the clock was set back", who, span(-age)), "sudo timedatectl set-ntp true"
	default:
		l.lives, l.text = true, fmt.Sprintf("%s turned its loop %s ago", who, span(max(age, 0)))
	}
	return l, nil
}

// everythingIsUp tells the same of what run is to keep up.
func (a *app) everythingIsUp(lives string) (well bool, text string, err error) {
	now, err := a.look(false)
	if err != nil {
		return false, "", err
	}
	up := 0
	for _, s := range now.services {
		switch {
		case s.down():
			return false, fmt.Sprintf("service %s: %s", s.name(), s.why(time.Now())), nil
		case s.Up:
			up++
		}
	}
	if len(now.bad) > 0 {
		return false, problem(now.bad[0]), nil
	}
	return true, fmt.Sprintf("%s up; %s", count(up, "service"), lives), nil
}
