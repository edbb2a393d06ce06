//go:build unix

package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"hermes-supervisor/supervise/turn"
)

// listen turns signals into a keeper's orders until stop. SIGPIPE is caught, not ignored: an ignored signal would be
// inherited by the agent, and a caught one keeps a closed stdout from ending the keeper.
func listen() (orders <-chan turn.Order, stop func()) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGTERM, unix.SIGPIPE)
	for _, s := range []os.Signal{unix.SIGINT, unix.SIGHUP} {
		if !signal.Ignored(s) { // a background job of a shell, nohup
			signal.Notify(signals, s)
		}
	}
	out := make(chan turn.Order, 8)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				order := turn.OrderDrain
				switch s {
				case unix.SIGPIPE:
					continue
				case unix.SIGINT:
					order = turn.OrderInterrupt
				}
				select {
				case out <- order:
				default: // enough of them are waiting already
				}
			}
		}
	}()
	return out, func() { signal.Stop(signals); close(done) }
}
