// Package fault names the moments at which a test may kill or stop this process: before and after each durable step.
//
// In a normal build At does nothing and costs nothing. Built with -tags faultpoints, a process dies, or stops, at the
// point that its environment names (see Var), so that a test can look at what is on disk at exactly that moment, with a
// real process and a real SIGKILL. The points are listed in Points, and a test holds that list and the code together.
package fault

// Points are all moments, in the order in which a turn passes them. The first four are those of every durable write
// (fsstate): a name here is the moment just before what it is called, or, ending in "-durable", just after it.
var Points = []string{
	"write.temp",        // before the new version is written under its temporary name
	"write.rename",      // before it takes its name: written and synced
	"write.sync-folder", // before the name is durable
	"write.durable",     // after that
	"witness.rename",    // a witness is written, synced and locked, and has no name yet
	"witness.durable",   // a witness is held and durable, and nothing names it
	"admit.decide",      // the lock is taken, nothing was decided
	"launch.fork",       // "intended" is durable, nothing was forked
	"launch.record",     // the agent runs, its pid is not on disk
	"launch.durable",    // "running" is durable
	"stop.durable",      // "stopping" is durable, no signal was sent
	"conclude.record",   // the agent has ended, its end is not on disk
	"conclude.durable",  // the end is on disk; tree, receipt and removal are due
	"receipt.start",     // the receipt is recorded, not started
	"receipt.ended",     // the receipt has ended, the marker is there
	"finish.outcome",    // before a request's outcome is recorded
	"finish.remove",     // before the marker goes
	"finish.durable",    // the marker is gone
	"crash.end-tree",    // the agent is dead, the rest of its tree may live
	"crash.decide",      // the tree is empty, nothing was decided
	"wait.durable",      // a back-off is on disk, no agent runs
	"drain.durable",     // a shutdown left the turn open
	"archive.remove",    // the copy in ended/ is durable, the marker is there too
	"archive.durable",   // the marker is gone
}

// ServicePoints are those that only the runner of a service passes, beside the first six of Points.
var ServicePoints = []string{
	"service.fork",   // the launch is durable, nothing was forked
	"service.record", // the service runs, its pid is not on disk
}

// HandoffPoints are those that only the handoffs of a home pass, beside the first six of Points.
var HandoffPoints = []string{
	"handoff.claim",    // the witness is durable, the claim is not
	"handoff.claimed",  // the claim is durable, nothing was started
	"handoff.fork",     // the same, with the file that takes the command's stderr
	"handoff.record",   // the command runs, its pid is not on disk
	"handoff.recorded", // its pid is on disk
	"handoff.conclude", // the command has ended, its end is not on disk
	"handoff.ended",    // the end is durable, the open record is there too
	"handoff.reopen",   // a retried one's open record is durable, its end is there too
}
