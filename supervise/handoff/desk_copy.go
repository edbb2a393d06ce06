package handoff

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
)

// refresh brings the copy up to what the folder holds.
func (d *Desk) refresh(ctx context.Context) {
	d.unsettled, d.stale = false, false
	began := time.Now()
	defer func() { d.looked, d.took = began, time.Since(began) }()
	stamps, err := d.Queue.Files.Stamps()
	if err != nil {
		d.say("", err)
		return
	}
	before := d.entries
	d.entries = make(map[string]*entry, len(stamps))
	d.waiting, d.platforms, d.running = d.waiting[:0], d.platforms[:0], d.running[:0]
	for _, s := range stamps {
		e := before[s.ID]
		if e == nil || e.young || !e.stamp.Equal(s.At) {
			e = d.read(ctx, s.ID, s.At)
		}
		if e == nil {
			continue
		}
		e.young = began.Sub(s.At) < stampTick
		d.entries[s.ID] = e
		switch {
		case e.state == queue.Pending:
			d.waiting, d.platforms = append(d.waiting, s.ID), append(d.platforms, e.platform)
		case e.state == queue.Running && e.verified:
			d.running = append(d.running, s.ID)
		}
	}
	maps.DeleteFunc(d.hands, func(id string, h *hand) bool { return !h.lives && d.entries[id] == nil })
	maps.DeleteFunc(d.failed, func(id, _ string) bool {
		return id != "" && !slices.ContainsFunc(stamps, func(s fsstate.Stamped) bool { return s.ID == id })
	})
}

// read is the entry of one file; nil where there is none that counts. What cannot be read stops nothing else.
func (d *Desk) read(ctx context.Context, id string, stamp time.Time) *entry {
	h, err := d.Queue.get(id)
	if err != nil {
		d.say(id, err)
		return nil
	}
	if !queue.State(h.State).Open() { // its end is durable; what is left of its open record came back, or its keeper was killed
		h, err = d.Queue.tidy(ctx, id)
		if _, locked := errors.AsType[*fsstate.LockedError](err); locked {
			d.unsettled = true // it may be about to be retried
			return nil
		}
		if err != nil {
			d.say(id, err)
			return nil
		}
		if h == nil {
			return nil
		}
	}
	return &entry{
		stamp: stamp, session: h.Session, platform: h.Platform, state: queue.State(h.State), verified: h.Verified, claim: h.Claim,
		tries: h.Tries, turn: turnID(h),
	}
}
