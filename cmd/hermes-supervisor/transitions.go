package main

import (
	"fmt"
	"io"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/service"
)

// transitions prints one line for each change of a service, and tells the service manager the last one.
type transitions struct {
	json bool
	to   io.Writer
	tell *notifier
}

func (t *transitions) moved(home fsstate.Home, spec service.Spec, s phase.State) {
	name := spec.Name
	if home.Profile != "" {
		name += "@" + home.Profile
	}
	t.tell.status(name + ": " + describe(s))
	if t.json {
		return
	}
	fmt.Fprintf(t.to, "%s  %-20s %s\n", time.Now().Format(time.TimeOnly), name, describe(s))
}

// describe is a service's state in one short line.
func describe(s phase.State) string {
	line := s.Phase.String()
	if text := s.Reason.Text(); text != "" {
		line += ": " + text
	}
	if s.Last != nil && (s.Last.Launch == s.Launch && s.Phase != phase.Running && s.Phase != phase.Starting || s.Reason == phase.ReasonRestarted) {
		line += " (" + exitText(s.Last) + ")"
	}
	if s.Phase == phase.Waiting && !s.NextAt.IsZero() {
		line += fmt.Sprintf(", next start in %s", max(time.Until(s.NextAt), 0).Round(100*time.Millisecond))
	}
	return line
}

// exitText is how a launch ended, with its last line.
func exitText(e *phase.Exit) string {
	text := "nobody saw how it ended"
	switch {
	case e.Code < 0 && e.Reason != "": // it never ran
		return e.Reason
	case e.Observed && e.Signal != 0:
		text = process.Exit{Code: e.Code, Signal: e.Signal, Signaled: true}.String()
	case e.Observed:
		text = fmt.Sprintf("exit %d", e.Code)
	}
	if e.Reason != "" {
		text += fmt.Sprintf(": %.100s", e.Reason)
	}
	return text
}
