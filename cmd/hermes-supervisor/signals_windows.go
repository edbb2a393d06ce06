package main

import (
	"os"
	"os/signal"
	"syscall"

	"hermes-supervisor/supervise/turn"
)

// listen turns console events into a keeper's orders until stop: Ctrl-C and Ctrl-Break interrupt, and the closing of
// the console, a logoff or a shutdown (which Go delivers as SIGTERM) drain.
func listen() (orders <-chan turn.Order, stop func()) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	out := make(chan turn.Order, 8)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				order := turn.OrderInterrupt
				if s == syscall.SIGTERM {
					order = turn.OrderDrain
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
