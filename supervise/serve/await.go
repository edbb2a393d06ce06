package serve

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

// The end of a turn is told by an event, which may have gone to nobody or to another connection; so the session is looked
// at now and then, and sooner where something looks like an end.
const (
	lookEvery = 30 * time.Second
	sooner    = 30 // times
)

// vigil is the waiting for an end, in one connection.
type vigil struct {
	*work

	pause  time.Duration // until the next look
	asked  string        // id of the last look; its answer alone counts
	idle   int           // looks in a row that found nothing at work
	untold int           // looks that told nothing
}

func (b Backend) lookEvery() time.Duration {
	if b.every > 0 {
		return b.every
	}
	return lookEvery
}

// await reads until the session has ended so many turns. The interrupt of a turn is its end too.
func (w *work) await(ctx context.Context, n int) (End, error) {
	frames, lost := w.frames(ctx)
	v := &vigil{work: w, pause: w.backend.lookEvery()}
	look := time.NewTimer(v.pause)
	defer look.Stop()
	stop, failed := w.stop, (*End)(nil)
	for {
		if len(w.ends) >= n {
			return w.ends[n-1], nil
		}
		if w.failed != failed {
			if failed = w.failed; failed != nil {
				v.pause, v.untold = w.backend.lookEvery()/sooner, 0
				look.Reset(v.pause)
			}
		}
		select {
		case <-stop:
			stop = nil
			if _, err := w.post("session.interrupt", map[string]any{"session_id": w.session}); err != nil {
				return End{}, err
			}
		case <-look.C:
			if v.asked != "" { // a look that is not answered tells nothing
				if end, _ := v.seen(stateUntold); end.Status != "" {
					return end, nil
				}
			}
			var err error
			if v.asked, err = w.post("session.active_list", map[string]any{}); err != nil {
				return End{}, err
			}
			look.Reset(v.pause)
		case f := <-frames:
			if f.Method != "" || v.asked == "" || string(f.ID) != v.asked {
				if err := w.take(f); err != nil {
					return End{}, err
				}
				continue
			}
			v.asked = ""
			if end, err := v.seen(stateIn(f, w.session)); end.Status != "" || err != nil {
				return end, err
			}
			look.Reset(v.pause)
		case err := <-lost:
			return End{}, err
		}
	}
}

// frames is what comes, until the connection is lost.
func (w *work) frames(ctx context.Context) (<-chan frame, <-chan error) {
	frames, lost := make(chan frame), make(chan error, 1)
	c := w.conn
	go func() {
		for {
			f, err := c.read(ctx)
			if err != nil {
				lost <- err
				return
			}
			select {
			case frames <- f:
			case <-ctx.Done():
				return
			}
		}
	}()
	return frames, lost
}

// post is a call whose reply is not waited for.
func (w *work) post(method string, params map[string]any) (id string, err error) {
	w.next++
	return strconv.Itoa(w.next), w.send(map[string]any{"id": w.next, "method": method, "params": params})
}

// Words for what a look found; any other is Hermes's, of a session at work.
const (
	stateUntold = ""
	stateIdle   = "idle"
)

// stateIn is what the answer to a look says of the session. One that is not listed any more does nothing.
func stateIn(f frame, session string) string {
	var list struct {
		Sessions []struct {
			ID     string `json:"id"`
			Status string `json:"status"`
		} `json:"sessions"`
	}
	if f.Error != nil || json.Unmarshal(f.Result, &list) != nil || list.Sessions == nil {
		return stateUntold
	}
	for _, s := range list.Sessions {
		if s.ID == session {
			return s.Status
		}
	}
	return stateIdle
}

var errNotDone = errors.New("the session had a turn of its own to continue, and did not")

// seen says what a look means; a zero End: wait on. Only two in a row that find nothing at work are an end, since Hermes
// begins and ends a turn in several steps.
func (v *vigil) seen(state string) (End, error) {
	switch state {
	case stateUntold: // an older Hermes: then an error that nothing follows is the end
		v.idle = 0
		if v.untold++; v.failed != nil && v.untold >= sooner {
			return *v.failed, nil
		}
		return End{}, nil
	case stateIdle:
		v.idle++
		v.pause = v.backend.lookEvery() / sooner
	default:
		v.started, v.idle, v.untold = true, 0, 0
		v.pause = min(2*v.pause, v.backend.lookEvery())
	}
	switch {
	case v.idle < 2:
		return End{}, nil
	case v.failed != nil:
		return *v.failed, nil
	case v.given == "" && !v.started:
		return End{}, errNotDone
	}
	return End{Status: Unseen}, nil
}
