package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"hermes-supervisor/fsstate"
)

const (
	pauseFile    = "pause.json"
	pauseVersion = 1
)

// Pause is a person's order that nothing in this home is continued by anyone.
type Pause struct {
	On    bool      `json:"on"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero"` // zero: until unpause
	Err   error     `json:"-"`              // the order could not be read: it counts as in force
}

func (p Pause) inForce(now time.Time) bool {
	return p.Err != nil || p.On && (p.Until.IsZero() || now.Before(p.Until))
}

// Paused reads the order in force. One that cannot be read holds everything back: continuing against a person's word
// is worse than waiting.
func (r *Room) Paused() Pause {
	data, _, err := r.Store.Read(fsstate.Requests, pauseFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Pause{}
	}
	if err != nil {
		return Pause{Err: err}
	}
	p := decodePause(data)
	if p.Err != nil {
		p.Err = fmt.Errorf("read %s: %w", r.Store.Path(fsstate.Requests, pauseFile), p.Err)
	}
	if !p.inForce(time.Now()) {
		return Pause{}
	}
	return p
}

// decodePause takes for an order only what says in so many words whether it is one.
func decodePause(data []byte) (p Pause) {
	doc, err := fsstate.DecodeDocument(data, pauseVersion)
	if err == nil {
		err = json.Unmarshal(doc["pause"], &p)
	}
	var said struct {
		On *bool `json:"on"`
	}
	if err == nil {
		if err = json.Unmarshal(doc["pause"], &said); err == nil && said.On == nil {
			err = errors.New("it does not say whether it is on")
		}
	}
	if err != nil {
		return Pause{Err: err}
	}
	return p
}

// Pause holds back every continuation in this home, for a time or (0) until Unpause.
func (r *Room) Pause(d time.Duration) (Pause, error) {
	p := Pause{On: true, Since: time.Now().UTC()}
	if d > 0 {
		p.Until = p.Since.Add(d)
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return p, err
	}
	data, err := fsstate.Document{"version": json.RawMessage("1"), "pause": raw}.Encode()
	if err != nil {
		return p, err
	}
	return p, r.Store.Write(fsstate.Requests, pauseFile, data)
}

// Unpause lifts the order. None in force is no error.
func (r *Room) Unpause() error { return r.Store.Remove(fsstate.Requests, pauseFile) }
