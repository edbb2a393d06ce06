// Package policy decides what becomes of a turn that somebody left behind, and
// says why.
//
//	what is on disk, who lives, the time          policy           what to do, and the reason
//	------------------------------------> Facts -> Decide  -> Decision {Keep | Wait | Continue | End | Conclude}
//	                                             \ Explain -> every rule with its fact, and the same Decision
//	how a process ended              -> ExitFacts -> ClassifyExit -> concluded or crashed
//	somebody gives `turn run` again  -> AdmitFacts -> Admit   -> start, continue, replace, finish or refuse
//
// It promises that the same facts always give the same answer, that run,
// status, explain and turn therefore never disagree, and that every answer
// carries a Reason of a closed set, each with a sentence and a remedy. The
// zero value of every enumeration is the harmless one: an unknown life holds
// back, an unclassified exit is a crash, and an empty Facts keeps the marker.
//
// It opens no file, reads no clock, draws no number and knows no process:
// what was not handed in does not count. It changes nothing, so charging an
// attempt before the run, and taking the lock under which the facts still
// hold when the decision is carried out, are the caller's duties.
package policy
