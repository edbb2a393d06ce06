package handoff

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
)

// Desk is the handoffs of one home as its dispatcher sees them: a copy in memory, so that a look at ten thousand that
// wait reads what has changed. It belongs to one goroutine.
type Desk struct {
	Queue *Queue

	entries map[string]*entry
	// Those that wait and those that run, as ids of entries, the oldest request first; and the platforms of the former.
	waiting, platforms, running []string

	lease  func() // set while this process dispatches for the home
	looked time.Time
	took   time.Duration // the last look at the folder
	// unsettled: at that look somebody was at work on a handoff that had ended.
	unsettled bool
	// stale: somebody else has changed what the copy shows, so that nothing is to be started by it.
	stale bool

	failed map[string]string
	hands  map[string]*hand // the keepers that this dispatcher has started
}

// entry is what the desk remembers of a handoff; not what is handed over.
type entry struct {
	stamp    time.Time // of the file
	young    bool      // it had been written so shortly before it was read that another change may have the same time
	session  string
	platform string
	state    queue.State
	verified bool
	tries    int
	turn     string // the id of its turn, where it is delivered as one
	claim    *fsstate.Claim
}

// Plan is what a look at a home comes to.
type Plan struct {
	Start []Start   // deliveries to begin now, the oldest first
	Watch []Claimed // whose claimers live: their end is the next look
	Next  time.Time // when a look may bring something although nothing wakes it; zero: never
	Busy  bool      // some handoff is open
}

// Start is a delivery to begin.
type Start struct {
	ID, Session, Platform string
}

// Claimed is a delivery that runs.
type Claimed struct {
	ID    string
	Claim fsstate.Claim
}

// leaseName is what one dispatcher of a home holds, so that its limits hold beside others.
const leaseName = "handoffs"

// treeLook is how often a delivery that lost its claimer is looked at: no handle tells of the end of its last process.
const treeLook = time.Second

// lockPatience is how long a look waits for the lock of one handoff: whoever holds it may be stopped, and the others wait.
const lockPatience = 300 * time.Millisecond

// lookShare bounds the time that is spent on looking at the folder: a look that took long is not soon repeated while
// something is there to do.
const lookShare = 10

// stampTick is how far apart two changes of a file are at least that its time tells apart, on any file system that is
// trusted.
const stampTick = 2 * time.Second

// retryStart is when a delivery is begun again whose keeper ended without a change to the handoff.
const retryStart = 30 * time.Second

// hand is a keeper that this dispatcher started, or what is left of it: a handoff that is as it was then waits.
type hand struct {
	lives bool
	until time.Time
	stamp time.Time // of the handoff's file
}

// Started says that a keeper was started for a handoff, Ended that it has ended, whether or not it delivered anything.
func (d *Desk) Started(id string) {
	h := &hand{lives: true}
	if e := d.entries[id]; e != nil {
		h.stamp = e.stamp
	}
	d.hand(id, h)
}

func (d *Desk) hand(id string, h *hand) {
	if d.hands == nil {
		d.hands = map[string]*hand{}
	}
	d.hands[id] = h
}

// Ended is the end of what Started began; refused: the keeper was told that somebody else has the handoff.
func (d *Desk) Ended(id string, refused bool, now time.Time) {
	d.stale = d.stale || refused
	if h := d.hands[id]; h != nil {
		h.lives, h.until = false, now.Add(retryStart)
	}
}

// Look reads what has changed, reclaims what its claimer's death has left, and says what is due while at most home
// deliveries run.
func (d *Desk) Look(ctx context.Context, now time.Time, home int) Plan {
	p := Plan{}
	d.stale = d.stale || d.lease == nil
	if again := d.looked.Add(lookShare * d.took); now.Before(again) && len(d.entries) > 0 && !d.stale {
		p.lookAt(again)
	} else {
		d.refresh(ctx)
	}
	if d.unsettled {
		p.lookAt(now.Add(treeLook))
	}
	if p.Busy = len(d.entries) > 0; !p.Busy {
		return p
	}
	if !d.dispatches() {
		p.lookAt(now.Add(treeLook)) // whoever does may die
		return p
	}
	running := map[string]int{}
	for _, id := range d.running {
		e := d.entries[id]
		if e.state == queue.Running && d.reclaim(ctx, id, e, &p) && !e.claim.External {
			running[e.platform]++
		}
	}
	for id, h := range d.hands {
		if e := d.entries[id]; h.lives && e != nil && e.state == queue.Pending {
			running[e.platform]++
		}
	}
	held := func(i int) bool {
		e, h := d.entries[d.waiting[i]], d.hands[d.waiting[i]]
		switch {
		case e.state != queue.Pending, h != nil && h.lives:
			return true
		case h != nil && e.stamp.Equal(h.stamp) && now.Before(h.until):
			p.lookAt(h.until)
			return true
		}
		return d.held(e)
	}
	for _, i := range queue.Due(d.platforms, running, d.limits(home), held) {
		e := d.entries[d.waiting[i]]
		p.Start = append(p.Start, Start{d.waiting[i], e.session, e.platform})
	}
	return p
}

// Open counts the open handoffs as they were at the last Look.
func (d *Desk) Open() (pending, running int) { return len(d.waiting), len(d.running) }

func (p *Plan) lookAt(at time.Time) {
	if p.Next.IsZero() || at.Before(p.Next) {
		p.Next = at
	}
}

func (d *Desk) limits(home int) queue.Limits {
	l := queue.Limits{Home: home, Platform: map[string]int{}}
	for _, platform := range d.platforms {
		if _, known := l.Platform[platform]; known {
			continue
		}
		pf, _ := d.Queue.Platform(platform) // one that is not configured is held
		l.Platform[platform] = pf.MaxConcurrent
	}
	return l
}

// dispatches takes the lease, and tells whether this process has it. It is kept until the process ends.
func (d *Desk) dispatches() bool {
	if d.lease != nil {
		return true
	}
	release, held, err := d.Queue.Files.Store.TryLease(leaseName)
	if err != nil {
		d.say("lease", err)
	}
	if held {
		d.lease = release
	}
	return held
}

// Close gives the lease back.
func (d *Desk) Close() {
	if d.lease != nil {
		d.lease()
		d.lease = nil
	}
}

// held tells what no limit holds back: nobody who may has requested it, nothing here delivers to its platform, or a turn
// stands in its way.
func (d *Desk) held(e *entry) bool {
	pf, err := d.Queue.Platform(e.platform)
	if !e.verified || err != nil || pf.External {
		return true
	}
	open, err := d.Queue.turnOpen(e.turn, e.session, pf)
	return open || err != nil
}

// reclaim settles a running handoff whose claimer is dead, and tells whether something of its delivery lives, or may.
func (d *Desk) reclaim(ctx context.Context, id string, e *entry, p *Plan) (lives bool) {
	if e.claim == nil {
		return false
	}
	if ident.Check(e.claim.Claimer) == ident.Alive {
		p.Watch = append(p.Watch, Claimed{id, *e.claim})
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	h, err := d.Queue.Reclaim(ctx, id)
	if _, locked := errors.AsType[*fsstate.LockedError](err); locked {
		p.lookAt(time.Now().Add(treeLook))
		return true
	}
	if refused, is := errors.AsType[*RefusedError](err); is {
		if e.state = refused.State; e.state != queue.Running { // its keeper was killed between its end and the removal of the open record
			e.stamp = time.Time{}
			p.lookAt(time.Now())
			return false
		}
		if refused.Reason == queue.ReasonRunning {
			p.lookAt(time.Now().Add(treeLook))
		}
		return true
	}
	if err != nil {
		d.say(id, err)
		p.lookAt(time.Now().Add(treeLook))
		return !errors.Is(err, ErrNone)
	}
	d.Queue.log().Warn("handoff taken back", "handoff", id, "session", h.Session, "state", h.State)
	e.state, e.claim = queue.State(h.State), h.Claim
	if e.state == queue.Pending {
		if e.stamp, err = d.Queue.Files.Stamp(id); err != nil {
			d.say(id, err)
		}
		until := time.Now().Add(queue.Again(e.tries))
		d.hand(id, &hand{until: until, stamp: e.stamp})
		d.stale = true
		p.lookAt(until)
	}
	return false
}

// say reports a fault of one file once, for as long as it stays the same.
func (d *Desk) say(id string, err error) {
	if _, locked := errors.AsType[*fsstate.LockedError](err); locked || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNone) {
		return
	}
	if d.failed == nil {
		d.failed = map[string]string{}
	}
	if text := err.Error(); d.failed[id] != text {
		d.failed[id] = text
		d.Queue.log().Warn("handoff not read", "handoff", id, "error", text)
	}
}
