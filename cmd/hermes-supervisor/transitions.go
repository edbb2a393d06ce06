package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/service"
)

// transitions prints one line for each change of a service, and tells the service manager the last one. With json each
// line is an object.
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
		t.event("service", serviceEvent(home, spec, s))
		return
	}
	fmt.Fprintf(t.to, "%s  %-20s %s\n", time.Now().Format(time.TimeOnly), name, describe(s))
}

// event prints one line of JSON; to a person it says nothing.
func (t *transitions) event(name string, fields map[string]any) {
	if !t.json {
		return
	}
	if fields == nil {
		fields = map[string]any{}
	}
	fields["schema"], fields["event"], fields["time"] = schema, name, time.Now().UTC()
	if line, err := json.Marshal(fields); err == nil {
		_, _ = t.to.Write(append(line, '\n')) // one write: whole lines, whoever else prints
	}
}

func serviceEvent(home fsstate.Home, spec service.Spec, s phase.State) map[string]any {
	fields := map[string]any{"service": spec.Name, "phase": s.Phase, "reason": s.Reason, "launch": s.Launch, "text": describe(s)}
	if home.Profile != "" {
		fields["profile"] = home.Profile
	}
	if s.Last != nil && s.Last.Observed {
		fields["last_exit"] = map[string]any{"launch": s.Last.Launch, "code": s.Last.Code, "signal": s.Last.Signal}
	}
	if !s.NextAt.IsZero() {
		fields["next_at"] = s.NextAt
	}
	return fields
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
