//go:build !linux

package main

// monotonicUsec is 0: systemd, which alone asks for it, runs on Linux.
func monotonicUsec() int64 { return 0 }
