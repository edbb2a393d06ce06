// Package health finds out whether a service is ready and whether it still works, without the service's help where
// that can be.
//
//	           launch
//	             |
//	        Probe.Await      ready by: a line of output | a file | a TCP port | an HTTP status | the first heartbeat
//	             |                                                          (the caller's ctx is the start deadline)
//	           ready
//	             |
//	+------->  Watch  -----> the last error, after so many failures in a row
//	|            |
//	| interval   |  Probe.Check
//	+------------+
//
// What it promises:
//
//   - What an earlier launch left behind (a ready file, a line, a heartbeat) makes no later one ready.
//   - A probe is bounded in time and in memory whatever the service answers, and opens no file that the service may
//     have replaced by a FIFO: files are looked at, not read.
//   - A service without a health probe costs nothing; one with a probe, one goroutine and one timer.
//   - A machine that slept does not make a service unhealthy.
//   - Errors are one line that says what was tried: "connect 127.0.0.1:1: connection refused".
//
// What it does not do: it restarts nothing, knows no service by name, and does not see that the process has ended (the
// caller ends the ctx then). It speaks plain HTTP/1 only.
package health
