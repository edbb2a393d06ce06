package turn

import (
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

const (
	stopVersion = 1
	stopLife    = 60 * time.Second // as long as any request lives (DESIGN.md)
)

// Moment is a point in time that keeps its order when the wall clock is stepped: two of the same boot are compared by
// the time since boot, which a time namespace shifts.
type Moment struct {
	BootID string        `json:"boot_id,omitempty"`
	TimeNS uint64        `json:"timens,omitempty"`
	Uptime time.Duration `json:"uptime_ns"`
	Wall   time.Time     `json:"at"`
}

// Now is this moment. A keeper takes it first thing: a stop request that is older is not meant for it.
func Now() Moment {
	m := Moment{Uptime: ident.Uptime(), Wall: time.Now().UTC()}
	if self, err := ident.Self(""); err == nil {
		m.BootID, m.TimeNS = self.BootID, self.TimeNS
	}
	return m
}

// since is how much later m is than o.
func (m Moment) since(o Moment) time.Duration {
	if m.BootID != "" && m.BootID == o.BootID && m.TimeNS == o.TimeNS {
		return m.Uptime - o.Uptime
	}
	return m.Wall.Sub(o.Wall)
}

// stopMark is an interrupt: it wins over a keeper that had started by then and not yet written its marker, and over nobody
// else. One that found no open turn is meant for whatever begins; one that found a turn, for whoever was given the same
// prompt by then, as a call that waits for the agent of a dead keeper: the turn goes, and that call would begin it anew.
type stopMark struct {
	Session string `json:"session"`
	Prompt  string `json:"prompt_sha256,omitempty"` // "": there was no turn
	Moment
	Renewed *Moment `json:"renewed,omitempty"` // when the turn went, if that took long: the mark lives on from then
}

// stopFile is the name of a mark: those of two prompts stand beside each other.
func stopFile(session, promptSum string) string {
	if promptSum == "" {
		return "stop-" + fsstate.Name(session) + ".json"
	}
	return "stop-" + fsstate.Name(session+"\x00"+promptSum) + ".json"
}

// leaveStopMark is called under the session's lock; the turn is nil where there is none.
func (r *Room) leaveStopMark(session string, t *fsstate.Turn) error {
	mark := stopMark{Session: session, Moment: Now()}
	if t != nil {
		mark.Prompt = fsstate.PromptSum(t.Prompt)
	}
	return r.writeStopMark(mark)
}

func (r *Room) writeStopMark(mark stopMark) error {
	raw, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	data, err := fsstate.Document{"version": json.RawMessage("1"), "stop": raw}.Encode()
	if err != nil {
		return err
	}
	return r.Store.Write(fsstate.Requests, stopFile(mark.Session, mark.Prompt), data)
}

// renewStopMark has the mark of an interrupted turn live on from the moment that the turn goes. What is stopped with its
// keeper, or does not die, may take longer to go than an order lives, and a call may have waited for it all that time.
func (r *Room) renewStopMark(t *fsstate.Turn) error {
	data, _, err := r.Store.Read(fsstate.Requests, stopFile(t.Session, fsstate.PromptSum(t.Prompt)))
	if err != nil {
		return nil //nolint:nilerr // nobody has asked for it, or it cannot be read: then it says nothing to a call either
	}
	var mark stopMark
	doc, err := fsstate.DecodeDocument(data, stopVersion)
	if err != nil || json.Unmarshal(doc["stop"], &mark) != nil {
		return nil //nolint:nilerr // likewise
	}
	now := Now()
	if now.since(mark.Moment) < stopLife/2 { // there is time left for whoever looks now
		return nil
	}
	mark.Renewed = &now
	return r.writeStopMark(mark)
}

// stopAsked tells whether a stop request precedes the marker of a keeper that started at the given moment with that
// prompt. A mark stays until it expires: it orders every keeper that had started by then, and no later one. It is called
// under the session's lock.
func (r *Room) stopAsked(session, prompt string, started Moment) (bool, error) {
	for _, sum := range []string{"", fsstate.PromptSum(prompt)} {
		if asked, err := r.stopMarked(session, sum, started); asked || err != nil {
			return asked, err
		}
	}
	return false, nil
}

// stopMarked is stopAsked of one mark. One that cannot be understood stops nothing and is removed.
func (r *Room) stopMarked(session, promptSum string, started Moment) (bool, error) {
	file := stopFile(session, promptSum)
	data, _, err := r.Store.Read(fsstate.Requests, file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	mark, valid := decodeStopMark(data, Now())
	if !valid {
		return false, r.Store.Remove(fsstate.Requests, file)
	}
	return mark.Session == session && mark.Prompt == promptSum && mark.since(started) >= 0, nil
}

// decodeStopMark returns a mark that can be understood and has not expired. One from the future would stop everybody
// until then.
func decodeStopMark(data []byte, now Moment) (mark stopMark, valid bool) {
	doc, err := fsstate.DecodeDocument(data, stopVersion)
	if err != nil || json.Unmarshal(doc["stop"], &mark) != nil {
		return stopMark{}, false
	}
	lives := mark.Moment
	if mark.Renewed != nil {
		lives = *mark.Renewed
	}
	if now.since(mark.Moment) < 0 || now.since(lives) < 0 || now.since(lives) > stopLife {
		return stopMark{}, false
	}
	return mark, true
}
