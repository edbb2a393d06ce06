package main

import (
	"os"
	"os/signal"

	"hermes-supervisor/supervise/turn"
)

// listen turns signals into a keeper's orders until stop. Every signal of signalOrders is caught, also one that this
// process was started to ignore (a background job of a shell, nohup): it stays without effect here, but what is ignored
// would be inherited by the agent, which could then not be interrupted in its own way.
func (a *app) listen() (orders <-chan turn.Order, stop func()) {
	signals := make(chan os.Signal, 8)
	deaf := map[os.Signal]bool{}
	for s := range signalOrders {
		deaf[s] = signal.Ignored(s)
		signal.Notify(signals, s)
	}
	out := make(chan turn.Order, 8)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				order := signalOrders[s]
				if deaf[s] || order == 0 {
					continue
				}
				a.ordered.Store(true)
				select {
				case out <- order:
				default: // enough of them are waiting already
				}
			}
		}
	}()
	return out, func() { signal.Stop(signals); close(done) }
}
