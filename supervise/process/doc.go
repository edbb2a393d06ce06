// Package process starts programs, follows their output and ends their whole process tree.
//
// It is the floor that the keeper of a turn and the runner of services stand on:
//
//	Host      the supervising process as a parent: starts children, reaps what the system hands to it
//	Child     one started program: its pid, its signals, how it ended
//	Tree      everything that a launch became: found by descent, session and environment tag
//	Ladder    the steps of a stop (which signal, to whom, how long) that Tree.End walks
//	Follower  copies a growing output file to a writer, byte for byte
//
// What it promises:
//
//   - Tree.End returns nil only when nothing of the tree lives, whatever appeared meanwhile: children in a session of
//     their own, orphans of a double fork, forks made while the signals were on their way.
//   - No signal goes to a process by its number alone. A handle is opened first, the identity is compared with what
//     the handle holds, then the signal is sent (Linux: pidfd). A group is signalled only under the handle of a
//     verified living member of it.
//   - The Host reaps its own children one by one and, besides them, strangers only: processes that were reparented to
//     it. It never waits for "any child", so that no exit status is taken from under whoever waits for it.
//   - A child outlives its supervisor on Unix. There is no parent-death signal (it would also fire when a thread of
//     ours ends) and no pipe between the two: output goes to a file, which blocks nobody when the reader is gone.
//
// A child may be given our controlling terminal (Spec.Terminal): see terminal_unix.go. It is then in our session, and
// what it became is found by descent, its group and the tag; a process in our session that is none of these is not its.
//
// What it does not do: it decides nothing (when to stop, whether to start again), writes no record, and does not
// know what a turn or a service is. It starts no shell.
//
// # Signals of the supervising process
//
// A signal that is ignored stays ignored across an exec, one that is caught does not. The supervising process must
// therefore catch SIGPIPE (os/signal.Notify), so that a reader that went away becomes an EPIPE of the write, and must
// not ignore it: every child would inherit that and go on writing into a closed pipe for ever. The same holds for
// SIGINT, SIGTERM and SIGHUP.
//
// # Platforms
//
// Linux is exact: subreaper, pidfds, the kernel's own list of children. macOS has no subreaper, so an orphan is found
// by its session or its environment tag only, and no process handles, so that a signal follows its check at once but
// not under a pin. Windows has no signals and no sessions: a launch is a job object, which the end of its
// supervisor closes; SIGINT and SIGTERM become CTRL_BREAK for the leader's console group, and only there, SIGKILL TerminateProcess.
package process
