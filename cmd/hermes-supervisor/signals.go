package main

import (
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"hermes-supervisor/supervise"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// catch has signals sent to a channel until stop. All of them are caught, also one that this process was started to ignore
// (a background job of a shell, nohup): that one is to stay without effect here, which deaf says, but what is ignored
// would be inherited by what we start, which could then not be interrupted in its own way.
func catch(all []os.Signal) (signals <-chan os.Signal, deaf map[os.Signal]bool, stop func()) {
	caught := make(chan os.Signal, 8)
	deaf = map[os.Signal]bool{}
	for _, s := range all {
		deaf[s] = signal.Ignored(s)
		signal.Notify(caught, s)
	}
	listened()
	return caught, deaf, func() { signal.Stop(caught) }
}

// offer hands a value over, unless enough of them are waiting already.
func offer[T any](to chan<- T, v T) {
	select {
	case to <- v:
	default:
	}
}

// listen turns signals into a keeper's orders until stop.
func (a *app) listen() (orders <-chan turn.Order, stop func()) {
	signals, deaf, ignore := catch(slices.Collect(maps.Keys(signalOrders)))
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
				offer(out, order)
			}
		}
	}()
	return out, func() { ignore(); close(done) }
}

// sameSignal is within which a signal that comes twice is one: timeout(1) and terminals send it to a process and then to
// its group. An order to read the configuration again is not: the file may have been changed in between.
const sameSignal = 100 * time.Millisecond

// listenForRun turns signals into the supervisor's orders until stop. SIGHUP reads the configuration again, unless a
// terminal was closed, which is a stop. passedSignals go to the service of the command line. gone tells of the end of the
// app that has started us, which is a stop as well. An app that is going gives more than one sign of it: neither its end
// after a signal, nor the first signal after its end, means that a stop takes too long.
func (a *app) listenForRun(gone <-chan struct{}) (orders <-chan supervise.Order, passed <-chan syscall.Signal, stop func()) {
	signals, deaf, ignore := catch(slices.Concat(stopSignals, passedSignals, []os.Signal{syscall.SIGPIPE}))
	terminal, controlled := process.IsTerminal(a.stderr), process.HasTerminal()
	out, pass := make(chan supervise.Order, 8), make(chan syscall.Signal, 8)
	done := make(chan struct{})
	go func() {
		var last os.Signal
		var at time.Time
		next, asked := supervise.OrderStop, false // what the next signal that ends us orders
		for {
			select {
			case <-done:
				return
			case <-gone:
				if !asked { // else a further signal means that it takes too long
					next = supervise.OrderLeave
				}
				a.ordered.Store(true)
				offer(out, supervise.OrderLeave)
			case s := <-signals:
				reload := s == syscall.SIGHUP && !terminal && (!controlled || process.HasTerminal())
				if !reload && s == last && time.Since(at) < sameSignal {
					continue
				}
				last, at = s, time.Now()
				sig, _ := s.(syscall.Signal)
				switch {
				case deaf[s], s == syscall.SIGPIPE:
				case slices.Contains(passedSignals, s):
					offer(pass, sig)
				case reload && len(out) > 0: // what waits reads it later than this, or ends us; a stop finds room
				case reload:
					offer(out, supervise.OrderReload)
				default:
					a.ordered.Store(true)
					offer(out, next)
					next, asked = supervise.OrderStop, true
				}
			}
		}
	}()
	return out, pass, func() { ignore(); close(done) }
}
