package process

import (
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watch wakes those who wait for a change of a file or folder. It is one inotify instance (on Linux a user has 128 of
// them, shared with every editor) for a whole process, opened when it is first needed and never closed: the kernel takes
// some 20 ms for that, which a run that ends, or a continuation that begins, must not wait for. So whoever needs it only
// for a moment polls instead: see Patience.
//
// Events are hints. A Watch that cannot be had (inotify exhausted) says so, and its user polls. So it does when what it
// watches is removed or renamed: whoever waits is woken, Lost tells, and Add has to be called again.
type Watch struct {
	mu      sync.Mutex
	watcher *fsnotify.Watcher
	refused time.Time // when the system last gave no watch
	waiting map[string][]waiter
	gone    map[string]bool // what is waited for and not watched any more
	lost    atomic.Uint64
}

// waiter is one who waits for a path; only is the name in a folder that concerns it, "" for any.
type waiter struct {
	only string
	wake chan<- struct{}
}

// Patience is how long a waiter polls before it asks for a watch.
const Patience = time.Second

// Add wakes a channel, which should hold one wake-up, whenever a path may have changed; in a folder, only when the file
// of the given name has. It tells whether that is possible. A nil Watch never can. Once more for the same channel and
// path, it only watches again what is not watched any more.
func (w *Watch) Add(path, only string, wake chan<- struct{}) bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.open() {
		return false
	}
	if len(w.waiting[path]) == 0 || w.gone[path] {
		if err := w.watcher.Add(path); err != nil {
			return false
		}
		delete(w.gone, path)
	}
	if one := (waiter{only, wake}); !slices.Contains(w.waiting[path], one) {
		w.waiting[path] = append(w.waiting[path], one)
	}
	return true
}

// open opens the watch, once for all. A system that has none is not asked again at once: many may ask.
func (w *Watch) open() bool {
	if w.watcher != nil {
		return true
	}
	if !w.refused.IsZero() && time.Since(w.refused) < Patience {
		return false
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		w.refused = time.Now()
		return false
	}
	w.watcher, w.waiting, w.gone = watcher, map[string][]waiter{}, map[string]bool{}
	go w.dispatch(watcher)
	return true
}

// Lost counts what was watched and is so no more, since it was removed or renamed. A nil Watch loses nothing.
func (w *Watch) Lost() uint64 {
	if w == nil {
		return 0
	}
	return w.lost.Load()
}

// Remove ends what Add began.
func (w *Watch) Remove(path string, wake chan<- struct{}) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.waiting[path]
	if len(all) == 0 {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(one waiter) bool { return one.wake == wake })
	if len(rest) > 0 {
		w.waiting[path] = rest
		return
	}
	delete(w.waiting, path)
	delete(w.gone, path)
	_ = w.watcher.Remove(path) // gone already, where the file is
}

// dispatch ends with the process.
func (w *Watch) dispatch(watcher *fsnotify.Watcher) {
	for {
		select {
		case event, open := <-watcher.Events:
			if !open {
				return
			}
			if event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename) {
				w.lose(event.Name)
			}
			if event.Op != fsnotify.Chmod { // a heartbeat changes the time of a file, nothing in it
				w.tell(event.Name, "")
				w.tell(filepath.Dir(event.Name), filepath.Base(event.Name))
			}
		case <-watcher.Errors: //nolint:errcheck // an overflow: anything may have changed
			w.tellAll()
		}
	}
}

// lose notes that a path was removed or renamed, and with it the watch of it.
func (w *Watch) lose(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting[path]) > 0 && !w.gone[path] {
		w.gone[path] = true
		w.lost.Add(1)
	}
}

func (w *Watch) tell(path, file string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, waiting := range w.waiting[path] {
		if waiting.only == file || waiting.only == "" {
			nudge(waiting.wake)
		}
	}
}

func (w *Watch) tellAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.waiting {
		for _, waiting := range all {
			nudge(waiting.wake)
		}
	}
}

func nudge(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
