package watch

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// Options are what Run needs of the world.
type Options struct {
	In, Out *os.File // the terminal
	Colour  bool
	// Read is how things stand now; changed is false where that is as at the last call, whose state or error stands then.
	// It is called again and again, from one goroutine.
	Read func() (now State, changed bool, err error)
	// Give gives an order ("start", "stop", "restart") and returns what came of it.
	Give func(ctx context.Context, order string, row Row) (string, error)
	// Explain and Log are the text of a pane.
	Explain, Log func(row Row) ([]string, error)
}

const (
	readEvery  = 500 * time.Millisecond
	ageEvery   = time.Second
	escapeWait = 50 * time.Millisecond // after which an ESC is a key of its own: within one, its bytes come at once
)

// loop is one Run: what only its goroutine touches.
type loop struct {
	Options

	screen *Screen
	model  *Model
	news   chan func(*Model) // what other goroutines have to say
	moved  chan struct{}     // something was ordered: read at once
	panics chan any
}

// Run shows what Read reads on the terminal, and obeys the keys, until one of them, a signal or ctx ends it. The signal
// that did is returned; nil for the others. The error is Read's first one, or says that there is no terminal.
func Run(ctx context.Context, o Options) (os.Signal, error) {
	screen, err := NewScreen(o.In, o.Out)
	if err != nil {
		return nil, err
	}
	first, _, err := o.Read()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, caught...)
	defer signal.Stop(signals)
	l := &loop{Options: o, screen: screen, model: New(o.Colour), news: make(chan func(*Model), 16), moved: make(chan struct{}, 1), panics: make(chan any, 1)}
	l.model.Tick(time.Now())
	l.model.Set(first)
	if err := screen.Enter(); err != nil {
		return nil, err
	}
	defer screen.Leave() // after a panic as well
	keys := make(chan []byte)
	l.do(func() { typed(ctx, o.In, keys) })
	l.do(func() { l.read(ctx) })
	return l.serve(ctx, signals, keys), nil
}

// do runs something beside the loop. Its panic is the loop's, which gives the terminal back first.
func (l *loop) do(f func()) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				l.panics <- p
			}
		}()
		f()
	}()
}

// typed hands on what is typed, until the terminal is gone.
func typed(ctx context.Context, in *os.File, keys chan<- []byte) {
	defer close(keys)
	for {
		b := make([]byte, 256)
		n, err := in.Read(b)
		if n > 0 {
			select {
			case keys <- b[:n]:
			case <-ctx.Done():
				return
			}
		}
		if err != nil || n == 0 {
			return
		}
	}
}

// read hands on how things stand.
func (l *loop) read(ctx context.Context) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	failed := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-l.moved:
		}
		now, changed, err := l.Read()
		switch {
		case err != nil && err.Error() != failed:
			failed = err.Error()
			l.say(ctx, func(m *Model) { m.Fail(err.Error()) })
		case err == nil && changed:
			failed = ""
			l.say(ctx, func(m *Model) { m.Set(now) })
		}
	}
}

func (l *loop) say(ctx context.Context, news func(*Model)) {
	select {
	case l.news <- news:
	case <-ctx.Done():
	}
}

func (l *loop) serve(ctx context.Context, signals chan os.Signal, typed <-chan []byte) os.Signal {
	ages := time.NewTicker(ageEvery)
	defer ages.Stop()
	alone := time.NewTimer(time.Hour)
	alone.Stop()
	defer alone.Stop()
	var pending []byte
	for {
		l.screen.Draw(l.model)
		var keys []Key
		select {
		case <-ctx.Done():
			return nil
		case p := <-l.panics:
			panic(p)
		case <-l.screen.Written:
			l.screen.Done(l.model)
		case now := <-ages.C: // alone: an age that changed with each frame would have each frame call for the next
			l.model.Tick(now)
		case news := <-l.news:
			news(l.model)
		case s := <-signals:
			switch {
			case isStop(s):
				l.suspend(signals)
			case !isContinue(s) && !isResize(s):
				return s
			case isContinue(s): // the shell has set its own modes meanwhile
				_ = l.screen.Enter()
			}
		case b, open := <-typed:
			if !open {
				return nil
			}
			if keys, pending = Keys(append(pending, b...), false); len(pending) > 0 {
				alone.Reset(escapeWait)
			}
		case <-alone.C:
			keys, pending = Keys(pending, true)
		}
		asked := l.asked()
		for _, k := range keys {
			if l.model.Asks() && !asked && k != KeyCtrlC {
				continue
			}
			asked = false
			if l.act(ctx, l.model.Update(k), signals) {
				return nil
			}
		}
	}
}

// asked tells whether a question stands on the screen. No key answers one that nobody can have read: it was typed before,
// or pasted in one with what asked.
func (l *loop) asked() bool {
	if !l.model.Asks() {
		return false
	}
	l.screen.await()
	return !l.screen.writing
}

// act carries out what a key meant, and tells whether that was the end.
func (l *loop) act(ctx context.Context, a Action, signals chan os.Signal) (quit bool) {
	switch a.Op {
	case Quit:
		return true
	case Suspend:
		l.suspend(signals)
	case Redraw:
		l.screen.Forget()
	case Give:
		l.model.Tell(fmt.Sprintf("%s: %s is ordered, waiting for it", a.Row.Name, a.Order), Busy)
		l.do(func() {
			answer, err := l.Give(ctx, a.Order, a.Row)
			select {
			case l.moved <- struct{}{}:
			default:
			}
			l.say(ctx, func(m *Model) {
				if err != nil {
					m.Tell(fmt.Sprintf("%s %s: %v", a.Order, a.Row.Name, err), Bad)
				} else {
					m.Tell(answer, Good)
				}
			})
		})
	case Explain:
		l.show(ctx, a.Row, l.Explain, (*Model).Show)
	case Log:
		l.show(ctx, a.Row, l.Log, (*Model).ShowEnd)
	case Nothing:
	}
	return false
}

// show opens a pane once its text is there.
func (l *loop) show(ctx context.Context, row Row, text func(Row) ([]string, error), pane func(*Model, string, []string)) {
	l.do(func() {
		lines, err := text(row)
		l.say(ctx, func(m *Model) {
			if err != nil {
				m.Tell(err.Error(), Bad)
			} else {
				pane(m, row.Name, lines)
			}
		})
	})
}

// suspend gives the terminal to the shell until it lets us go on.
func (l *loop) suspend(signals chan os.Signal) {
	if !isJob() {
		l.model.Tell("there is no shell to go back to; q quits", Faint)
		return
	}
	l.screen.Leave()
	stopSelf()
	signal.Notify(signals, caught...)
	for goOn := time.After(time.Second); ; { // which stands still meanwhile, as all of this process does
		select {
		case s := <-signals:
			if !isContinue(s) {
				continue
			}
		case <-goOn:
		}
		break
	}
	_ = l.screen.Enter()
}
