package follow

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/process"
)

// session is one run of a follower.
type session struct {
	*Follower

	since    time.Time
	state    *state // nil until the lease is held
	release  func()
	textfile string            // that is being written
	over     chan error        // of the command that runs; nil: none does
	said     map[string]string // faults, as they were last reported
	settled  bool              // a notice was, since the file of metrics was written
	unkept   bool              // the state has changed, and is not on disk
}

func (s *session) close() {
	if s.release != nil {
		s.release()
	}
}

// say reports a fault once, for as long as it stays the same; nil ends it.
func (s *session) say(what, about string, err error) {
	key := what + "\x00" + about
	if err == nil {
		delete(s.said, key)
		return
	}
	if text := err.Error(); s.said[key] != text {
		s.said[key] = text
		attrs := []any{"what", what, "error", text}
		if about != "" {
			attrs = append(attrs, "about", about)
		}
		s.Log.Warn("metrics and notices", attrs...)
	}
}

// open takes the lease and reads the state. Another supervisor of this home may have it: then that one follows.
func (s *session) open(ctx context.Context, n Notify) bool {
	if s.state != nil {
		return true
	}
	if s.release == nil {
		release, held, err := s.Store.TryLease(lease)
		if err == nil && !held {
			err = errors.New("another run of this home writes them")
		}
		s.say("metrics and notices left alone", s.Store.Home().Path, err)
		if err != nil {
			return false
		}
		s.release = release
	}
	state, err := load(s.Store, s.since)
	s.say("counts of metrics not read", s.Store.Path("", StateFile), err)
	if s.state = state; state == nil {
		return false
	}
	var file sealedFile
	if s.unseal(sealedTextfile, state.Textfile, &file) {
		s.textfile, s.settled = file.Path, true
	}
	if over := make(chan error, 1); state.Begun {
		s.over = over
		go func(d fsstate.Document) { over <- s.outlive(ctx, d, n.Timeout) }(state.Launch)
	}
	return true
}

// look reads what is new, keeps it, writes the file and begins to tell what is pending; begin is false in a stop.
func (s *session) look(ctx context.Context, begin bool) {
	l := s.snapshot()
	if !s.open(ctx, l.config.Notify) {
		return
	}
	now := time.Now()
	changed := s.unkept
	s.state.notAhead(now)
	if l.tick {
		changed = s.forget(l.homes, now) || changed
	}
	if l.config.Wanted() {
		for _, h := range l.homes {
			changed = s.read(h, l.config.Notify, now) || changed
		}
	}
	for len(s.state.Pending) > 0 && s.over == nil && (now.Sub(s.state.Pending[0].Time) > MaxAge || len(l.config.Notify.Command) == 0) {
		s.state.settle(Expired)
		changed = true
	}
	if s.relocate(l.config.Textfile) {
		changed, l.tick = true, true
	}
	if changed {
		s.keep()
	}
	s.write(l, changed, true, now)
	if begin && s.over == nil && len(s.state.Pending) > 0 {
		s.begin(ctx, l.config.Notify)
	}
}

// forget drops what is known of profiles that were deleted: those that are neither served nor listed.
func (s *session) forget(homes []served, now time.Time) bool {
	gone := maps.Clone(s.state.Homes)
	delete(gone, "")
	for _, h := range homes {
		delete(gone, h.profile)
	}
	if len(gone) == 0 {
		return false
	}
	listed, err := fsstate.Homes(s.Store.Home())
	if err != nil {
		return false
	}
	for _, h := range listed {
		delete(gone, h.Profile)
	}
	return s.state.forget(slices.Collect(maps.Keys(gone)), now)
}

// keep tells whether the state is on disk.
func (s *session) keep() bool {
	err := s.state.save(s.Store)
	s.say("counts of metrics not kept", s.Store.Path("", StateFile), err)
	s.unkept = err != nil
	return err == nil
}

// read takes what is new in one home's journal, and tells whether there was anything.
func (s *session) read(h served, n Notify, now time.Time) bool {
	p := s.state.at(h.profile)
	known := func(service string) bool { return h.known[service] }
	events, first := uint64(0), len(p.Position.Files) == 0
	position, skipped, err := h.store.FollowJournal(p.Position, func(e fsstate.Event) {
		if events++; first && e.Time.Before(s.state.Since) { // beyond a place that was reached all is new, whatever the clock said
			return
		}
		p.Tally.count(e, known)
		told := notice(e, h.home, known, p.Looping)
		if told != nil && len(n.Command) > 0 && slices.Contains(n.Events, told.Event) {
			s.state.take(told, n.Rate, now)
		}
	})
	if errors.Is(err, fs.ErrClosed) { // its profile was deleted
		err = nil
	}
	s.say("journal not followed", h.home.Path, err)
	p.Position = position
	p.Tally.Skipped += skipped
	return events > 0 || skipped > 0
}

const sealedTextfile = "textfile" // what the seal is for

// sealedFile is the file of metrics that is written.
type sealedFile struct {
	Path string `json:"path"`
}

// relocate removes the file of metrics where another one is to be written, or none, and tells whether it is so. The collector
// would show it for ever, and two with the same series are an error to it.
func (s *session) relocate(to string) bool {
	if s.textfile == to {
		return false
	}
	if s.textfile != "" {
		s.say("file of metrics not removed", s.textfile, fsstate.RemoveKept(s.textfile))
	}
	if s.textfile, s.state.Textfile = to, nil; to != "" {
		s.state.Textfile = s.seal(sealedTextfile, sealedFile{to})
	}
	return true
}

// write brings the file of metrics up to date: where something has changed, at a tick, and at the stop.
func (s *session) write(l look, changed, up bool, now time.Time) {
	if s.textfile == "" || !changed && !s.settled && !l.tick && up {
		return
	}
	s.settled = false
	homes := make([]gauges, 0, len(l.homes))
	for _, h := range l.homes {
		homes = append(homes, h.gauges)
	}
	// For everybody to read: the collector is another user.
	s.say("metrics not written", s.textfile, fsstate.KeepFile(s.textfile, []byte(render(s.Version, up, now, homes, s.state)), 0o644))
	if l.tick { // what a supervisor that was killed has left lies there for a while first
		_ = fsstate.RemoveLeftovers(s.textfile)
	}
}

// begin runs the command with the first pending notice. One that cannot be marked as begun waits for a later look: a
// supervisor that comes after our death would tell it again.
func (s *session) begin(ctx context.Context, n Notify) {
	over, first := make(chan error, 1), s.state.Pending[0]
	l := launch{Instance: ident.NewInstance(), Until: time.Now().Add(n.Timeout)}
	s.state.Begun = true
	s.state.Launch = s.seal(sealedLaunch, l)
	if !s.keep() {
		s.state.Begun, s.state.Launch = false, nil
		return
	}
	s.over = over
	go func() { over <- s.tell(ctx, n, first, l.Instance) }()
}

// told settles the notice whose command has ended. It is tried once: whether to try again is the command's business.
func (s *session) told(err error) {
	s.over = nil
	result, about := Delivered, ""
	switch {
	case errors.Is(err, errUnseen):
		result, about = Unseen, s.state.Pending[0].Text // said for each: nobody else can tell which
	case err != nil:
		result = Failed
	}
	s.state.settle(result)
	s.settled = true
	s.keep()
	s.say("notice not delivered", about, err)
}

// finish is the ordered stop.
func (s *session) finish(ctx context.Context) {
	s.look(ctx, false)
	if s.state == nil {
		return
	}
	if s.over != nil {
		if err := <-s.over; !errors.Is(err, process.ErrErrandCut) {
			s.told(err)
		} else { // the next supervisor tells it
			s.state.Begun, s.state.Launch = false, nil
			s.keep()
		}
	}
	s.write(s.snapshot(), true, false, time.Now())
}
