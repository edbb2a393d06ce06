package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise"
	"hermes-supervisor/supervise/turn"
)

var orderKinds = map[string]phase.Kind{
	supervise.OpStart: phase.OrderStart, supervise.OpStop: phase.OrderStop, supervise.OpRestart: phase.OrderRestart,
}

// orderForLater writes an order for the next run.
func (a *app) orderForLater(ctx context.Context, p *place, name, op string) (string, error) {
	unlock, err := p.files.Store.Lock(ctx, fsstate.Name(name), op+" "+name)
	if err != nil {
		return "", err
	}
	defer unlock()
	rec, err := p.files.Get(name)
	if err != nil {
		return "", err
	}
	if by := p.supervisor(rec); by.Verdict != ident.Dead {
		return "", &busyError{fmt.Errorf("service %s: run has just started: give the order again", name)}
	}
	if !rec.Verified {
		return "", &turn.PermissionError{Problem: fmt.Sprintf("record of service %s does not verify: the next run sets it aside", name)}
	}
	alive := p.process(rec)
	// Held, since nobody watches it: the order is noted, and the next run carries it out with what it finds.
	s, _ := phase.Resume(stateOf(rec), phase.Unknown, true, phase.Defaults(), time.Now(), 0)
	s, _, err = phase.Next(s, phase.Event{Kind: orderKinds[op], Epoch: s.Epoch + 1}, phase.Defaults(), time.Now(), 0)
	if err != nil {
		return "", err
	}
	if rec.State, err = json.Marshal(s); err != nil {
		return "", err
	}
	if err := p.files.Put(rec); err != nil {
		return "", err
	}
	text := "run is down; it will be started by the next run"
	switch lives := alive.Verdict == ident.Alive; {
	case lives && op == supervise.OpStart:
		text = fmt.Sprintf("run is down, and the service lives on (pid %d)", rec.Process.PID)
	case lives:
		text = fmt.Sprintf("run is down, and the service lives on (pid %d): the next run will %s it", rec.Process.PID, op)
	case op == supervise.OpStop:
		text = "run is down; it stays down in the next run"
	}
	return text, nil
}
