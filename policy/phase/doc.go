// Package phase decides what becomes of a service: it is the phase machine and
// the restart policy, without the service.
//
//	Stopped --order------+                          Exited
//	Waiting --Due, order-+--> Starting --Ready--> Running ----+
//	Parked  --order------+        |                  |        |
//	   ^                          | order, Shutdown, |        | (Exited in
//	   |                          | unhealthy, late  |        | Starting too)
//	   |                          v                  v        v
//	   |                       Stopping ----StopDeadline--> Killing
//	   |                          | Gone                      | Gone
//	   +--------------------------+---------------------------+
//	     by State.Then: stopped, waiting, parked, or launched at once
//
//	record on disk, event, settings, now, jitter -> Next   -> new record, one Act, or an ImpossibleError
//	record on disk, is it alive, is it this boot -> Resume -> new record, one Act
//
// It promises:
//
//   - Every pair of a phase and an event is written out in one table (next.go); a pair that cannot be is an error.
//   - Between an act Launch and the event Gone (or LaunchFailed) there is no second Launch.
//   - An operator's order voids whatever was pending: an older order, an end or a timer of an older launch changes
//     nothing.
//   - A start that no operator ordered waits for its back-off, and at most Settings.StormStarts of them fall into any
//     StormWindow. A crash loop is shown and slowed, never given up.
//   - The same arguments give the same answer. The handed-in state is not written to.
//   - A launch of which nobody can tell whether it lives is neither signalled nor doubled: it is held (ReasonOwnerUnknown),
//     orders for it are noted, and the next Resume carries them out.
//
// What the runner of a service owes in return: it persists the state before it does the act; it gives the events of one
// launch in their order (Launched, Exited, Gone, the last only when the whole tree is empty); it gives no order after
// Shutdown, and waits then for no held service, which a Shutdown leaves as it is; where a person presses Ctrl-C twice,
// it ends the grace of a stop early with StopDeadline.
//
// It opens no file, reads no clock, draws no number, knows no process and cancels no timer: a timer that fires late is
// told from one that counts by the number of its launch.
package phase
