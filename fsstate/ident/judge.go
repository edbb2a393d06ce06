package ident

import (
	"fmt"
	"slices"
)

// Evidence is what is known about the process of one instance.
type Evidence struct {
	// ID is the recorded identity. With an empty ID.Instance no scan is made.
	ID Ident
	// Witness is what [ProbeWitness] said, before this call.
	Witness Witness
	// Trusted says that the state file system's locks may be trusted. Where they may not, a free witness is no
	// evidence; a held one still is.
	Trusted bool
	// Tagged scans the processes' environments. It is called at most once, and only when the scan decides; the
	// caller memoises it. nil: no scan can be made, which counts as one that failed.
	Tagged func() (Tagged, error)
}

// Finding is a verdict and what led to it.
type Finding struct {
	Verdict Verdict
	// Why is one lower-case phrase for people.
	Why string
	// PIDs are the processes that the scan found, sorted; nil when it found none or was not needed. They hold back
	// a launch, and alone never permit a signal.
	PIDs []int
}

// Judge settles whether the process of an instance, or anything that it left behind, still lives. The order is that
// of what can prove what:
//
//  1. Witness held: Alive. It or a descendant lives, wherever.
//  2. Another boot or pid namespace: a free witness on a trusted file system, which one kernel serves, is Dead;
//     without one it is Unknown, for pids mean nothing there. Another namespace of this very boot goes on to 4 first:
//     an agent in a container below ours may have closed its stdin, and is in our process table.
//  3. Here: the pid check. Alive and Unknown stand. Dead, or a launch that recorded no pid and whose witness is
//     free, goes on to
//  4. the scan of the environments, since an agent may have closed its stdin and a descendant may have closed it
//     too: found is Alive, failed is Unknown, nothing is Dead.
//
// An identity that does not say from which boot or namespace it comes may be from here: it is Dead only if it is so
// by both rules, 2 and 3 with 4.
func Judge(e Evidence) Finding {
	return judge(e, here(), look)
}

func judge(e Evidence, at place, look lookup) Finding {
	if e.Witness == WitnessHeld {
		return Finding{Verdict: Alive, Why: "the witness is held"}
	}
	free := e.Witness == WitnessFree && e.Trusted
	where := at.localityOf(e.ID)
	switch {
	case where == elsewhere && free && e.ID.BootID == at.bootID:
		return scanned(e, "the witness is free, and the process was of another pid namespace")
	case where == elsewhere && free:
		return Finding{Verdict: Dead, Why: "the witness is free, and the process was of another boot or pid namespace"}
	case where == elsewhere:
		return Finding{Why: "the process is of another boot or pid namespace, and " + unproven(e)}
	case where == unsure && !free:
		return Finding{Why: "the boot or pid namespace of the process is not known, and " + unproven(e)}
	}

	var gone string
	switch {
	case e.ID.PID != 0:
		verdict, why := compare(e.ID, at, look)
		if verdict == Alive && where == unsure {
			return Finding{Why: why + ", but of which boot or pid namespace is not known"}
		}
		if verdict != Dead {
			return Finding{Verdict: verdict, Why: why}
		}
		gone = why
	case free:
		gone = "no pid was recorded and the witness is free"
	default:
		return Finding{Why: "no pid was recorded, and " + unproven(e)}
	}
	return scanned(e, gone)
}

// scanned lets the scan decide about an instance that is dead by everything else.
func scanned(e Evidence, gone string) Finding {
	if e.ID.Instance == "" {
		return Finding{Verdict: Dead, Why: gone}
	}
	if e.Tagged == nil {
		return Finding{Why: gone + ", but the environments of the processes were not searched"}
	}
	tagged, err := e.Tagged()
	if err != nil {
		return Finding{Why: fmt.Sprintf("%s, but %v", gone, err)}
	}
	if pids := tagged[e.ID.Instance]; len(pids) > 0 {
		return Finding{
			Verdict: Alive,
			Why:     fmt.Sprintf("%s, but pid %d carries the instance in its environment", gone, pids[0]),
			PIDs:    slices.Sorted(slices.Values(pids)),
		}
	}
	return Finding{Verdict: Dead, Why: gone + ", and no process carries the instance in its environment"}
}

// unproven says why the witness proves no death.
func unproven(e Evidence) string {
	if e.Witness == WitnessFree {
		return "locks of this file system prove nothing"
	}
	return "the witness cannot be read"
}
