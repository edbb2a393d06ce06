// Package ident tells whether another process is alive, dead, or neither can be known.
//
// It has two kinds of evidence and one judge over them:
//
//	pid, start, boot, namespace --> Check ----+
//	                                          |
//	witness file (flock) --> ProbeWitness ----+--> Judge --> ALIVE | DEAD | UNKNOWN, and why
//	                                          |
//	tag in the environment --> ScanTagged ----+
//
// Promises:
//
//   - A pid alone is never an identity. It counts only together with the start time that the kernel gives,
//     the boot and the pid namespace in which both were read, and it is read while a handle (pidfd, Windows process
//     handle) keeps the number from being given to another process.
//   - DEAD is said only on proof. What cannot be read, what lives elsewhere, and what an error hides is UNKNOWN,
//     and UNKNOWN never permits a signal, a takeover or a second run. No permission is not death.
//   - A zombie is dead, unless other threads of it still run. A stopped process is alive. A thread is not a process.
//   - Nothing here blocks on a file, whatever somebody put in its place, and a scan that a process holds up ends
//     with an error in bounded time.
//
// What it does not do: it sends no signal, writes no file, and remembers nothing between calls (a scan is memoised
// by the caller). It cannot see processes of another machine, kernel or, by pid, another pid namespace; the witness
// is for those.
//
// # Platforms
//
// Linux: pidfd_open(2), then /proc/PID/stat. Kernels before 5.3 and sandboxes without pidfd are served by /proc
// alone. A /proc that shows another pid namespace than ours is refused, and makes everything UNKNOWN.
//
// macOS: one sysctl reads pid, state and start together, so no handle is needed. ScanTagged cannot see the
// environment of other users' processes, nor of Apple's own protected binaries.
//
// Windows: a process handle. The witness is not inherited there, see [LockWitness]. [Stopped] is always false.
package ident
