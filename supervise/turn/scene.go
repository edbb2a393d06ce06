package turn

import (
	"sync"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/hermes"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// scene is one look at the world: who lives, what Hermes's registry says, whether this home is paused. The process
// table is scanned at most once a scene, and only when a pid alone cannot settle a turn.
type scene struct {
	room    *Room
	now     time.Time
	here    ident.Ident // this process: the boot and namespace that it is in
	tagged  func() (ident.Tagged, error)
	leases  func() ([]hermes.Lease, error)
	markers func() ([]hermes.Marker, error)
	pause   func() Pause
}

func (r *Room) look() *scene {
	self, err := ident.Self("")
	if err != nil {
		self = ident.Ident{} // then nothing can be judged from here, which everybody takes for unknown
	}
	return &scene{
		here:    self,
		room:    r,
		now:     time.Now(),
		tagged:  sync.OnceValues(ident.ScanTagged),
		leases:  sync.OnceValues(func() ([]hermes.Lease, error) { return hermes.ActiveLeases(r.Store.Home().Path) }),
		markers: onceMarkers(r.Store.Home().Path),
		pause:   sync.OnceValue(r.Paused),
	}
}

// keeper judges the keeper of a turn. A keeper's own environment does not carry its instance, so there is nothing to
// scan for; a turn without one has no keeper that could live.
func (s *scene) keeper(t *fsstate.Turn) ident.Finding {
	if t.Reported() {
		return ident.Finding{Verdict: ident.Dead, Why: "the agent reports this turn itself: no keeper"}
	}
	return ident.Judge(ident.Evidence{
		ID:      t.Keeper,
		Witness: s.witness(t.Keeper.Instance),
		Trusted: s.room.Store.Trusted(),
		Tagged:  func() (ident.Tagged, error) { return nil, nil },
	})
}

// owner judges the process that does the turn, its witness and what carries its tag; for an entry of Hermes's own that
// no keeper has taken over, its writer.
func (s *scene) owner(t *fsstate.Turn) ident.Finding {
	if t.Origin != nil && t.Reported() {
		if sheltered(t) && ident.Check(t.Owner) == ident.Alive {
			return ident.Finding{Verdict: ident.Alive, Why: "its backend is being stopped"}
		}
		return s.writer(t.Session, t.Origin.StartedAt)
	}
	return ident.Judge(ident.Evidence{
		ID:      t.Owner,
		Witness: s.witness(t.Owner.Instance),
		Trusted: s.room.Store.Trusted(),
		Tagged:  s.tagged,
	})
}

// receipt judges the receipt command of a concluded turn, which may run on after its keeper's death. Its pid is not
// recorded: witness and tag scan settle it.
func (s *scene) receipt(t *fsstate.Turn) ident.Finding {
	if t.Receipt.Instance == "" {
		return ident.Finding{Verdict: ident.Dead, Why: "the receipt command was never started"}
	}
	return ident.Judge(ident.Evidence{
		ID:      ident.Unlaunched(t.Keeper, t.Receipt.Instance),
		Witness: s.witness(t.Receipt.Instance),
		Trusted: s.room.Store.Trusted(),
		Tagged:  s.tagged,
	})
}

// witness is the witness of an instance: its stdin, and the files that take its output, which are locked the same way.
// A descendant may have let go of the one and kept another.
func (s *scene) witness(instance string) ident.Witness {
	if instance == "" {
		return ident.WitnessUnknown
	}
	for _, suffix := range []string{".out", ".err"} {
		if ident.ProbeWitness(s.room.Store.Path(fsstate.Run, instance+suffix)) == ident.WitnessHeld {
			return ident.WitnessHeld
		}
	}
	return ident.ProbeWitness(s.room.Store.Path(fsstate.Run, instance+".in"))
}

// lease is what Hermes's own registry of session owners says of a turn: a live or unknown owner holds it back.
func (s *scene) lease(t *fsstate.Turn) (held bool, owner policy.Life) {
	leases, err := s.leases()
	if err != nil {
		return true, policy.LifeUnknown
	}
	for _, l := range leases {
		if l.SessionID != t.Session && (t.AgentSession == "" || l.SessionID != t.AgentSession) {
			continue
		}
		if v, _ := hermes.LeaseOwner(l); v != ident.Dead {
			return true, life(v)
		}
	}
	return false, policy.LifeDead
}

// facts are everything that policy wants to know about an open turn.
func (s *scene) facts(t *fsstate.Turn, by policy.By, keeper, owner ident.Finding) policy.Facts {
	pause := s.pause()
	held, leaseOwner := s.lease(t)
	agent, known := s.room.agent(t.Agent)
	f := policy.Facts{
		Now: s.now, Settings: s.room.Settings, By: by,
		Paused: pause.inForce(s.now), PausedUntil: pause.Until,
		Store:    storeOf(t),
		Reported: t.Reported() && t.Origin == nil, Unattended: t.Unattended && (t.Source != sourceHook || agent.Unattended), // what hermes.toml says now counts
		Phase: t.Phase, Agent: t.Agent, Source: t.Source, AutoContinue: t.AutoContinue, Attempts: charged(t),
		LastProof: lastProof(t), Drained: t.Drained,
		Keeper: life(keeper.Verdict), Owner: life(owner.Verdict), OwnerWhy: owner.Why,
		LeaseHeld: held, LeaseOwner: leaseOwner,
		Verified: t.Verified, AgentKnown: known,
		RetryAt: t.RetryAt, Stalled: !t.StalledAt.IsZero(), EndUnobserved: t.Unobserved, NewerPrompt: s.newerHermes(t),
	}
	if t.Crash != nil {
		f.Cause = policy.Reason(t.Crash.Reason)
	}
	if t.Drained && t.Keeper.BootID != "" && t.Keeper.BootID != ident.BootID() {
		f.OtherBoot, f.BootedAt = true, s.now.Add(-ident.Uptime())
	}
	return f
}

// charged are the continuations of a turn that count as its attempts: those that a provider's limit ended do not.
func charged(t *fsstate.Turn) int { return max(t.Attempts-t.Deferrals, 0) }

func (r *Room) agent(name string) (Agent, bool) {
	if name == "" || r.Agents == nil {
		return Agent{}, false
	}
	return r.Agents(name)
}

// lastProof is the last moment at which the turn is known to have been worked on: every write and heartbeat of its file
// comes after its start, also where the clock was stepped back in between and the start lies in the future now.
func lastProof(t *fsstate.Turn) time.Time {
	if t.LastSeen.IsZero() { // an entry of Hermes's own
		return t.StartedAt
	}
	return t.LastSeen
}

func life(v ident.Verdict) policy.Life {
	switch v {
	case ident.Alive:
		return policy.LifeAlive
	case ident.Dead:
		return policy.LifeDead
	case ident.Unknown:
	}
	return policy.LifeUnknown
}

func storeOf(t *fsstate.Turn) string {
	if t.Origin != nil {
		return t.Origin.Store
	}
	return "own"
}
