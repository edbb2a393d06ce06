package turn

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"hermes-supervisor/fsstate"
)

// Events are hints; these polls are what is relied on.
const (
	watchedPoll   = time.Second
	unwatchedPoll = 100 * time.Millisecond // where inotify is exhausted, or the file system tells nothing
)

// watchTurn wakes a keeper when its marker may have changed. It watches the folder, never the file, which every write
// replaces. The channel holds one wake-up; stop ends the watching.
func (r *Room) watchTurn(ctx context.Context, session string) (wake <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	woken := make(chan struct{}, 1)
	ended := make(chan struct{})
	file := fsstate.Name(session) + ".json"
	every := watchedPoll
	var events chan fsnotify.Event
	var faults chan error
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		if err = watcher.Add(filepath.Dir(r.Store.Path(fsstate.Turns, file))); err != nil {
			_ = watcher.Close()
		} else {
			events, faults = watcher.Events, watcher.Errors
		}
	}
	if err != nil {
		every = unwatchedPoll
	}
	go func() {
		defer close(ended)
		if events != nil {
			defer watcher.Close() //nolint:errcheck // nothing is left to do with it
		}
		poll := time.NewTicker(every)
		defer poll.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case e, ok := <-events:
				if !ok {
					events = nil
					continue
				}
				if filepath.Base(e.Name) != file || e.Op == fsnotify.Chmod {
					continue
				}
			case <-faults: //nolint:errcheck // a fault is a hint to look, like any event
			case <-poll.C:
			}
			select {
			case woken <- struct{}{}:
			default:
			}
		}
	}()
	return woken, func() { cancel(); <-ended }
}
