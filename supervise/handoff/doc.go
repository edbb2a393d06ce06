// Package handoff moves sessions to other platforms: the queue of one home, who dispatches it, and the keeper of each
// delivery.
//
//	request ----> handoffs/<id>.json   pending
//	Desk    ----> a keeper process for each one that is due, the oldest first
//	Keeper  ----> claims it, runs the platform's command or turn, records how that ended
//	              handed/<id>.json     completed or failed
//	a program of its own may claim, complete and fail as well (`handoff claim`)
//
// The keeper is claimer and parent of the command, so that the death of the dispatcher loses and repeats nothing. Its
// claim is durable before the command starts; the command's end is durable before the keeper ends. Who dies in between
// leaves a running handoff, which Reclaim settles once the claimer and all of its delivery are gone.
//
// What a handoff means and when it is due is decided in policy/queue; how its files look, in fsstate.
package handoff
