// Package hermes reads, and with great care writes, the files that the Hermes
// agent itself keeps in its home. They are Hermes's, not ours: what they say is
// evidence and never authority.
//
//	HERMES_HOME/
//	  desktop/interrupted_turns.json   turn markers: read, and written while no Hermes of that home lives
//	  runtime/active_sessions.json     who has which session open: read only, without its lock
//	  gateway.pid, gateway_state.json  the messaging gateway: read only
//	  .gateway-planned-stop.json       written before a gateway is signalled, see [PlannedStop]
//
// # Promises
//
// Reading never blocks, never follows a link and never panics, whatever lies at
// the path. A file that cannot be used reads as no entries together with a
// [*BrokenError]; an entry of the wrong shape is left out and the others remain.
//
// A rewrite of the marker file keeps every other entry byte for byte: key and
// value are copied as they are spelled, so escapes of lone surrogates, numbers
// that a float64 cannot hold and keys of a newer Hermes survive. A file that is
// broken is set aside before it is replaced. What needs no change is not written.
//
// The verdicts about writers, leases and processes are three-valued. Unknown is
// never permission for anything.
//
// # What it does not do
//
// Hermes takes no lock around its marker file, so two writers lose each other's
// changes whatever one of them does. This package takes none either: the caller
// asks [LiveProcess] first, holds a lock of its own against other supervisors,
// and keeps its own record of attempts and ends, which outranks an entry that
// comes back.
//
// Hermes's files name pids without the pid namespace they belong to. A Hermes in
// another container that shares the home cannot be told from one that is gone.
package hermes
