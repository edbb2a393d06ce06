// Package supervise is `run`: one supervisor over all homes.
//
//	hermes.toml --> plan --> service.Runner, one for each service and home
//	turns/      --> recovery --> a keeper for each turn that may go on
//	requests/   --> orders --> runners
//	profiles/   --> homes that appear and go
//	journal     --> follow.Follower, where metrics or notices are asked for
//
// Its loop is level-triggered: events (a changed folder, the end of a process, a signal, a rescan every 30 s) only wake
// it, and it looks at what is on disk then. Keepers are processes of their own: they outlive its death, and end with its
// ordered stop.
//
// It knows no command line and reads no configuration: both are handed in.
package supervise
