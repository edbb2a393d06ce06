// Package queue decides what becomes of a handoff: who may change it, what it is then, and which ones are due.
//
//	                   +------------------ Retry ------------------+
//	                   v                                           |
//	request --> pending --Claim--> running --Complete--> completed |
//	               |                 |  |                          |
//	               |                 |  +--Fail, Reclaim----> failed
//	               +-----Cancel------|-----------------------> failed
//	                                 +--Reclaim (a turn)--> pending
//
//	facts about a request, and of its session's others -> Admit -> recorded, the same as before, or refused
//	facts about a handoff, and what is asked of it     -> Next  -> its next state, or why it keeps its own
//	what waits and what runs in a home, its limits     -> Due   -> which may be claimed now
//	facts about a pending one                          -> Hold -> why it is not being delivered yet
//	how long a client has waited                       -> Wait  -> go on, or why not
//
// It promises:
//
//   - One claim wins: only a pending handoff can be claimed, and only with the claim that runs it can it be completed or
//     failed.
//   - A running handoff is taken away from its claimer only when that one is DEAD and nothing of its delivery lives.
//     UNKNOWN takes nothing away.
//   - A session has one open handoff: pending or running.
//   - A slow platform delays no other: what waits for its own platform's limit is passed over.
//   - A handoff that is delivered as a turn goes back to pending when its claimer dies, since its turn is told from any
//     other by the handoff's id and is not run twice. Any other one fails, since it may have been delivered.
//
// It opens no file, reads no clock and knows no process.
package queue
