package supervise

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/hermes"
)

// watchHomes wakes the loop when a request arrives, or a turn changes.
func (l *loop) watchHomes() {
	l.watched = true
	if l.Root.Profile == "" {
		if !l.rootWatched {
			l.rootWatched = l.Host.Watch().Add(l.Root.Path, profilesFolder, l.wake)
		}
		if !l.profilesWatched { // there may be none yet
			if l.profilesWatched = l.Host.Watch().Add(filepath.Join(l.Root.Path, profilesFolder), "", l.wake); l.profilesWatched {
				l.wakeUp() // what changed before woke nobody
			}
		}
		l.watched = l.rootWatched
	}
	for _, h := range l.homes {
		if h.watched || h.leaving.Load() {
			continue
		}
		h.watched = true
		for _, folder := range wakingFolders {
			if !l.Host.Watch().Add(h.store.Path(folder, ""), "", l.wake) {
				h.watched = false
			}
		}
		if !l.Host.Watch().Add(h.store.Path(fsstate.Handoffs, ""), "", l.deliveries.wake) {
			h.watched = false
		}
		if h.watched {
			l.wakeUp()
			nudge(l.deliveries.wake)
		}
		l.watched = l.watched && h.watched
	}
}

// watchAgain watches once more what has been removed and may have been made again, and tells whether something was lost.
// What is not there is looked for by polling.
func (l *loop) watchAgain() bool {
	lost := l.Host.Watch().Lost()
	if lost == l.lost {
		return false
	}
	l.lost, l.rootWatched, l.profilesWatched = lost, false, false
	for _, h := range l.homes {
		h.watched = false
	}
	l.watchHomes()
	return true
}

// wakingFolders are the folders of a home in which a change wakes the loop.
var wakingFolders = [...]fsstate.Folder{fsstate.Requests, fsstate.Turns}

func (l *loop) wakeUp() { nudge(l.wake) }

func nudge(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// rescan looks at everything once more: at first at the times of the folders only, since where nothing happens it is to
// cost nothing, neither time nor the pages of the program that it would run through.
func (l *loop) rescan(ctx context.Context) {
	l.beat()
	l.lookForProfiles(ctx)
	l.watchHomes()
	quiet := true
	for _, h := range l.homes {
		if retention := l.config.Handoffs.Retention; time.Since(h.swept) > sweepEvery || retention > 0 && time.Since(h.swept) > retention {
			h.sweep(ctx, retention)
		}
		for _, spec := range h.specs {
			l.begin(ctx, h, spec) // what somebody else ran
		}
		seen := h.look()
		quiet = quiet && seen == h.seen && !h.busy && !h.handing
		if h.seen = seen; seen.since(time.Now().Add(-mtimeTick)) {
			h.seen = times{} // what comes within this tick does not change them again
		}
	}
	if !quiet {
		l.takeOrders(ctx)
		l.recoverTurns(ctx)
		l.handOver(ctx)
	}
	l.follower.Load().Tick()
}

// sweep removes what nobody needs any more, beside the loop.
func (h *home) sweep(ctx context.Context, retention time.Duration) {
	now := time.Now()
	h.swept = now
	go func() {
		h.room.Sweep(ctx, now)
		if retention > 0 {
			h.desk.Queue.Sweep(ctx, now.Add(-retention))
		}
	}()
}

// times are when the folders and files were changed that a rescan reads.
type times struct{ turns, requests, handoffs, hermes time.Time }

func (h *home) look() times {
	return times{
		turns: changed(h.store.Path(fsstate.Turns, "")), requests: changed(h.store.Path(fsstate.Requests, "")),
		handoffs: changed(h.store.Path(fsstate.Handoffs, "")),
		hermes:   changed(hermes.MarkersPath(h.Path)),
	}
}

// since tells whether one of them is later than a point in time.
func (t times) since(at time.Time) bool {
	return t.turns.After(at) || t.requests.After(at) || t.handoffs.After(at) || t.hermes.After(at)
}

// mtimeTick is how far apart two changes are at least that a folder's time tells apart, on any file system that is
// trusted.
const mtimeTick = 2 * time.Second

// changed is when a path was changed; zero where there is nothing.
func changed(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// lookForProfiles serves what has appeared, where something has.
func (l *loop) lookForProfiles(ctx context.Context) {
	at := changed(filepath.Join(l.Root.Path, profilesFolder))
	if l.Root.Profile != "" || l.stopping || at.Equal(l.profiles) {
		return
	}
	if l.profiles = at; time.Since(at) < mtimeTick {
		l.profiles = time.Time{} // what comes within this tick does not change it again
	}
	l.findProfiles(ctx)
	l.watchHomes()
}

// profilesFolder is where Hermes keeps the profiles of a root home.
const profilesFolder = "profiles"

// findProfiles serves the profiles that have appeared, and lets go of those that were deleted.
func (l *loop) findProfiles(ctx context.Context) {
	homes, err := fsstate.Homes(l.Root)
	if err != nil {
		l.Log.Warn("profiles not listed", "error", err.Error())
		return
	}
	there := map[string]bool{l.Root.Path: true}
	for _, h := range homes {
		there[h.Path] = true
		if _, open := l.homes[h.Path]; open {
			continue
		}
		if err := l.openHome(ctx, h); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.Log.Warn("profile not served", "profile", h.Profile, "error", err.Error())
		}
	}
	for path, h := range l.homes {
		if !there[path] {
			l.leaveHome(ctx, h)
		}
	}
}
