// Package service keeps one service of one home up: a long-lived backend that `run` starts, watches and starts again.
//
//	            claim                 orders, exits, timers, probes
//	record ----------> Runner.Run ------------------------------------> policy/phase.Next
//	(services/<name>.json)  ^                                               |
//	                        +---- the state is durable, then its act <------+
//	                              launch | stop | kill | wait
//
// It promises:
//   - One copy. A service has one supervisor (the one that its record names, for as long as that one is not dead), and
//     a launch begins only when nothing of the launch before it lives.
//   - No launch unrecorded: the instance, with its witness held, is on disk before the fork.
//   - What outlived its supervisor is adopted by identity, or held back as unknown; it is never signalled or started
//     beside on a guess.
//
// It decides nothing: policy/phase does, and it knows neither the command line nor the other services.
package service
