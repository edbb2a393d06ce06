package turn

import (
	"context"
	"path/filepath"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/process"
)

// Events are hints; these polls are what is relied on.
const (
	watchedPoll   = time.Second
	unwatchedPoll = 100 * time.Millisecond // where there is no watch, or not yet
)

// watchTurn wakes its caller when the marker of a session may have changed. It watches the folder, never the file, which
// every write replaces. The channel holds one wake-up; stop ends the watching. A nil watch polls.
func (r *Room) watchTurn(ctx context.Context, session string, watch *process.Watch) (wake <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	woken := make(chan struct{}, 1)
	ended := make(chan struct{})
	file := fsstate.Name(session) + ".json"
	folder := filepath.Dir(r.Store.Path(fsstate.Turns, file))
	go func() {
		defer close(ended)
		poll := time.NewTicker(unwatchedPoll)
		defer poll.Stop()
		patience := time.NewTimer(process.Patience)
		defer patience.Stop()
		for {
			select {
			case <-ctx.Done():
				watch.Remove(folder, woken)
				return
			case <-patience.C:
				if watch.Add(folder, file, woken) {
					poll.Reset(watchedPoll)
				}
			case <-poll.C:
				select {
				case woken <- struct{}{}:
				default:
				}
			}
		}
	}()
	return woken, func() { cancel(); <-ended }
}
