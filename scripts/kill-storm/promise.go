//go:build linux

package main

import (
	"fmt"
	"slices"
)

const noMarker = "no marker"

// promised are, for the fault points that name a durable step, the phases of the marker that may be on disk when the
// keeper dies exactly there. A turn that someone has asked to stop may be stopping wherever it may be running (that it
// was asked is judged by look).
var promised = map[string][]string{
	"launch.fork":      {phaseIntended},
	"launch.record":    {phaseIntended},
	"launch.durable":   {phaseRunning},
	"stop.durable":     {phaseStopping},
	"conclude.record":  {phaseRunning},
	"conclude.durable": {phaseConcluded},
	"receipt.start":    {phaseConcluded},
	"receipt.ended":    {phaseConcluded},
	"finish.outcome":   {phaseConcluded, phaseRunning}, // running: an interrupt while it waits for its next attempt
	"finish.remove":    {phaseConcluded, phaseRunning},
	"finish.durable":   {noMarker},
	"crash.end-tree":   {phaseRunning},
	"crash.decide":     {phaseRunning},
	"wait.durable":     {phaseRunning},
	"drain.durable":    {phaseRunning},
	"archive.remove":   {phaseIntended, phaseRunning},
	"archive.durable":  {noMarker},
}

// keptPromise holds what a killed keeper left against the point at which it died.
func (c *call) keptPromise(m *marker) (rule string) {
	allowed, known := promised[c.strike.point]
	if !known || !c.died || !c.struck || c.strike.action != "kill" || len(c.rivals) > 0 || c.order != nil {
		return ""
	}
	phase := noMarker
	if m != nil {
		phase = m.Phase
	}
	running := slices.Contains(allowed, phaseRunning) || slices.Contains(allowed, phaseIntended)
	if slices.Contains(allowed, phase) || running && phase == phaseStopping {
		return ""
	}
	return fmt.Sprintf("the keeper of call %s died at %s and left: %s", c.name, c.strike.point, phase)
}
