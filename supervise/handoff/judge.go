package handoff

import (
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// claimer judges whoever claimed a handoff and all of its delivery: DEAD only when nothing of it lives.
//
// A keeper's witness is the stdin of its command, and both hold it; its name marks the command and all that this one
// starts. A program of its own has neither, so its pid alone counts, and after a reboot the boot that it lived in: on a
// file system that one kernel serves nobody of another boot lives.
func (q *Queue) claimer(h *fsstate.Handoff) ident.Finding {
	c := h.Claim
	if c == nil {
		return ident.Finding{Verdict: ident.Dead, Why: "nobody claimed it"}
	}
	e := ident.Evidence{ID: c.Claimer, Trusted: q.Files.Store.Trusted()}
	if c.External {
		e.ID.Instance = ""
		if boot := ident.BootID(); boot != "" && c.Claimer.BootID != "" && boot != c.Claimer.BootID {
			e.Witness = ident.WitnessFree
		}
		return ident.Judge(e)
	}
	e.Witness, e.Tagged = q.witness(c.Claimer.Instance), q.scan()
	f := ident.Judge(e)
	if f.Verdict == ident.Dead && c.Handler.PID != 0 {
		e.ID = c.Handler
		f = ident.Judge(e)
	}
	return f
}

// scan is what looks through the processes for those that carry a claim's name.
func (q *Queue) scan() func() (ident.Tagged, error) {
	if q.Tagged == nil {
		return ident.ScanTagged
	}
	return q.Tagged
}

// witness is that of a claim: the command's stdin, and what takes its stderr, which is locked the same way.
func (q *Queue) witness(claim string) ident.Witness {
	if claim == "" {
		return ident.WitnessUnknown
	}
	if ident.ProbeWitness(q.Files.Store.Path(fsstate.Run, claim+errSuffix)) == ident.WitnessHeld {
		return ident.WitnessHeld
	}
	return ident.ProbeWitness(q.Files.Store.Path(fsstate.Run, claim+".in"))
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
