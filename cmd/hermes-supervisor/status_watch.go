package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"hermes-supervisor/cmd/hermes-supervisor/watch"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/hermes"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise"
	"hermes-supervisor/supervise/output"
	"hermes-supervisor/supervise/process"
)

// hasScreen tells whether what is watched can stay on a screen.
func (a *app) hasScreen() bool {
	term := os.Getenv("TERM")
	return !a.json && a.stdin == os.Stdin && process.IsTerminal(os.Stdin) && process.IsTerminal(a.stdout) && (term != "" || runtime.GOOS == "windows") && term != "dumb"
}

// coloured tells whether somebody has switched colours off (no-color.org; CLICOLOR is the BSDs' word for it).
func coloured(getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("CLICOLOR") != "0"
}

// watcher reads what the screen of `status --watch` shows.
type watcher struct {
	*app

	home   fsstate.Home
	stamps string
	at     time.Time     // of the last whole look
	cost   time.Duration // of it

	mu   sync.Mutex
	last overview
}

// watchScreen shows how things stand on the terminal, until a key or a signal ends it.
func (a *app) watchScreen(ctx context.Context) error {
	home, err := a.resolveHome()
	if err != nil {
		return err
	}
	w := &watcher{app: a, home: home}
	ended, err := watch.Run(ctx, watch.Options{
		In: os.Stdin, Out: a.stdout, Colour: coloured(os.Getenv),
		Read: w.read, Give: w.giveOrder, Explain: w.explain, Log: w.log,
	})
	if sig, is := ended.(syscall.Signal); is {
		a.code = 128 + int(sig)
	}
	return err
}

const (
	// looksAnew is how often everything is read again though no file has changed: a process ends without a word in them.
	looksAnew = 3 * time.Second
	// A look at hundreds of services is not free. So much of the time, at most, goes into looks while nothing changes, and
	// while everything does.
	restShare = 100
	busyShare = 5
)

// read is how things stand; changed only where a file has, or a while has passed.
func (w *watcher) read() (watch.State, bool, error) {
	stamps := w.stampsOf()
	wait := busyShare * w.cost
	if stamps == w.stamps {
		wait = max(looksAnew, restShare*w.cost)
	}
	if time.Since(w.at) < wait {
		return watch.State{}, false, nil
	}
	began := time.Now()
	now, err := w.look(true)
	w.stamps, w.at, w.cost = stamps, time.Now(), time.Since(began)
	if err != nil {
		return watch.State{}, false, err
	}
	w.mu.Lock()
	w.last = now
	w.mu.Unlock()
	run, err := livenessOf(w.home, time.Now())
	note := run.text
	if err != nil {
		note = oneLine(err)
	} else if before, _, cut := strings.Cut(note, " turned its loop"); run.lives && cut {
		note = before // its heartbeat is of no interest while it is in time
	}
	return watch.State{
		Title: "hermes-supervisor  " + w.home.Path, Note: note, Bad: !run.lives, Summary: now.summary(),
		Tables: []watch.Table{now.serviceTable(), now.turnTable(), now.handoffTable()},
		Events: w.events(),
	}, true, nil
}

// stampsOf are the times of what is read, at the cost of a few calls of stat.
func (w *watcher) stampsOf() string {
	var b strings.Builder
	stamp := func(path string) {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&b, "%d %d,", info.ModTime().UnixNano(), info.Size())
		}
		b.WriteByte(';')
	}
	for _, home := range homesBelow(w.home) {
		state := fsstate.StateFolder(home)
		for _, folder := range []fsstate.Folder{fsstate.Services, fsstate.Turns, fsstate.Handoffs, fsstate.Requests} {
			stamp(state + string(os.PathSeparator) + string(folder))
		}
		stamp(hermes.MarkersPath(home.Path))
		stamp(state + string(os.PathSeparator) + fsstate.JournalFile)
	}
	return b.String()
}

const eventsShown = 200

// events are the last lines of the journals of all homes, by their time.
func (w *watcher) events() []string {
	var all []fsstate.Event
	for _, home := range homesBelow(w.home) {
		store, err := fsstate.OpenRead(home)
		if err != nil {
			continue // status tells why above
		}
		events, _ := store.LastEvents() // none where there is no journal that can be read
		all = append(all, events...)
		_ = store.Close()
	}
	slices.SortStableFunc(all, func(a, b fsstate.Event) int { return a.Time.Compare(b.Time) })
	all = all[max(0, len(all)-eventsShown):]
	lines := make([]string, 0, len(all))
	for _, e := range all {
		stamp := e.Time.Local().Format(time.TimeOnly)
		if time.Since(e.Time) > 24*time.Hour {
			stamp = e.Time.Local().Format(time.DateOnly)
		}
		lines = append(lines, stamp+"  "+eventText(e))
	}
	return lines
}

// giveOrder is what `start`, `stop` and `restart` do.
func (w *watcher) giveOrder(ctx context.Context, op string, row watch.Row) (string, error) {
	until := phase.Running
	if op == supervise.OpStop {
		until = phase.Stopped
	}
	text, err := w.give(ctx, op, row.Name, 0, until, orderWait, func(string) {})
	if err != nil {
		return "", errors.New(oneLine(err))
	}
	return row.Name + ": " + text, nil
}

// A pane shows so much of each stream of a service's output: a line may be as long as all of it.
const (
	outputLines = 500
	outputBytes = 128 << 10
)

// log is the last output of a service.
func (w *watcher) log(row watch.Row) ([]string, error) {
	log, store, err := w.openLog(row.Name)
	if err != nil {
		return nil, err
	}
	defer store.Close() //nolint:errcheck // a directory handle
	var lines []string
	for _, s := range []output.Stream{output.Out, output.Err} {
		text := ending{most: outputBytes}
		p := &logPrinter{w: &text, held: map[output.Stream][]byte{}}
		if err := errors.Join(log.Tail(outputLines, p.emit, s), p.flush(s)); err != nil {
			return nil, err
		}
		if text := strings.TrimRight(text.String(), "\n"); text != "" {
			lines = append(lines, strings.Split(text, "\n")...)
		}
	}
	if len(lines) == 0 {
		return []string{"it has printed nothing"}, nil
	}
	return lines, nil
}

// explain is why a row stands as it does, and what would change it.
func (w *watcher) explain(row watch.Row) ([]string, error) {
	w.mu.Lock()
	now := w.last
	w.mu.Unlock()
	var text strings.Builder
	for _, s := range now.services {
		if s.id() == row.ID {
			s.explain(&text, time.Now())
		}
	}
	for _, v := range now.turns {
		if turnID(v) == row.ID {
			if err := explainTurn(&text, v); err != nil {
				return nil, err
			}
		}
	}
	for _, v := range now.handoffs {
		if handoffID(v) == row.ID {
			if err := describeHandoff(&text, v); err != nil {
				return nil, err
			}
		}
	}
	if text.Len() == 0 {
		return nil, errors.New(row.Name + " is gone")
	}
	return strings.Split(strings.TrimRight(text.String(), "\n"), "\n"), nil
}
