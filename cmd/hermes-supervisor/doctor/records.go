package doctor

import (
	"context"
	"errors"
	"fmt"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/hermes"
)

// lookAtRecords: documents that cannot be read, and those whose seal does not hold.
func lookAtRecords(_ context.Context, e Env) []Finding {
	sealKey := e.key()
	var found []Finding
	records := 0
	for _, p := range e.Places() {
		if _, err := hermes.ReadMarkers(p.Home.Path); err != nil { // Hermes itself takes that for none, too
			found = append(found, problem(e.at(p)+err.Error()+": no turn of Hermes's is seen", aside(hermes.MarkersPath(p.Home.Path))))
		}
	}
	for _, p := range e.used() {
		turns, bad := fsstate.TurnFiles{Store: p.Store, Key: sealKey}.All(fsstate.Turns)
		for _, err := range bad {
			found = append(found, e.broken(p, err, e.in(p, "turn", "list"))...)
		}
		services, bad := fsstate.ServiceFiles{Store: p.Store, Key: sealKey}.All()
		for _, err := range bad {
			found = append(found, e.broken(p, err, "")...)
		}
		handoffFiles := fsstate.HandoffFiles{Store: p.Store, Key: sealKey}
		ids, err := handoffFiles.Open()
		if err != nil {
			found = append(found, p.unsafe(err))
		}
		handoffs, bad := handoffFiles.All(ids)
		for _, err := range bad {
			found = append(found, e.broken(p, err, e.in(p, "handoff", "list"))...)
		}
		records += len(turns) + len(services) + len(handoffs)
		if len(sealKey) == 0 {
			continue // the key's own check has said it
		}
		for _, t := range turns {
			if !t.Verified {
				found = append(found, problem(fmt.Sprintf("%sturn %s does not verify: another key sealed it, or somebody changed it", e.at(p), key(t.Session)), e.in(p, "turn", "clear", key(t.Session))))
			}
		}
		for _, s := range services {
			if !s.Verified {
				path := fsstate.ServiceFiles{Store: p.Store}.Path(s.Service)
				found = append(found, problem(path+" does not verify: another key sealed it, or somebody changed it", aside(path)))
			}
		}
		for _, h := range handoffs {
			if !h.Verified {
				found = append(found, problem(fmt.Sprintf("%shandoff %s does not verify: another key sealed it, or somebody changed it", e.at(p), h.ID), e.in(p, "handoff", "cancel", h.ID)))
			}
		}
	}
	return orOK(bounded(found), "%s, and all verify", count(records, "record"))
}

// broken is a document that holds nothing that can be used. sets is the command that sets such a one aside on its way; ""
// where a person has to.
func (e Env) broken(p Place, err error, sets string) []Finding {
	if corrupt, is := errors.AsType[*fsstate.CorruptError](err); is {
		if sets == "" {
			sets = sh("mv", "--", corrupt.Path, corrupt.Path+".corrupt-by-hand")
		}
		return []Finding{problem(e.at(p)+corrupt.Error(), sets)}
	}
	if _, unsafe := errors.AsType[*fsstate.UnsafeError](err); unsafe {
		return nil // the check of the permissions has said it
	}
	if _, version := errors.AsType[*fsstate.VersionError](err); version {
		return []Finding{problem(e.at(p)+err.Error()+": a newer hermes-supervisor wrote it", e.call("version"))}
	}
	return []Finding{problem(e.at(p)+err.Error(), e.in(p, "turn", "list"))}
}
