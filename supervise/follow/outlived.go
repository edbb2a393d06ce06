package follow

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/process"
)

// What a command that has ended may say, beside its own fault.
var (
	errCut    = errors.New("was ended by the stop of run")
	errUnseen = errors.New("run died before its command had ended: it may not have been told")
)

// launch is the command that tells the first pending notice, as the state names it. It is on disk before the command
// starts, and sealed: agents can write that file, and by this a process is ended.
type launch struct {
	Instance string    `json:"instance"`
	Until    time.Time `json:"until"` // its limit
}

func (s *session) launchContext() string { return "notice " + s.Store.Home().Path }

func (s *session) seal(l launch) (fsstate.Document, error) {
	var d fsstate.Document
	text, err := json.Marshal(l)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err == nil {
		d.Seal(s.Key, s.launchContext())
	}
	return d, err
}

// unseal is the launch that a state names; false where there is none that is ours.
func (s *session) unseal(d fsstate.Document) (l launch, ours bool) {
	text, err := json.Marshal(d)
	return l, err == nil && d.Verify(s.Key, s.launchContext()) && json.Unmarshal(text, &l) == nil && l.Instance != ""
}

// outlivedLook is between two looks at a command that is not our child.
const outlivedLook = time.Second

// outlive waits for a command that a supervisor has left which died, so that still one runs at a time, and ends it at its
// limit, or at an ordered stop. How it ended nobody knows.
func (s *session) outlive(ctx context.Context, d fsstate.Document, limit time.Duration) error {
	l, ours := s.unseal(d)
	if !ours {
		return errUnseen
	}
	tree := process.Tree{Instance: l.Instance, Orphan: true}
	limited, cancel := context.WithTimeout(ctx, min(max(time.Until(l.Until), 0), limit))
	defer cancel()
	why := errUnseen
	for {
		members, err := tree.Members()
		if err != nil || len(members) == 0 {
			return why
		}
		if process.Pause(limited, outlivedLook) != nil {
			break
		}
	}
	if ctx.Err() != nil {
		why = errCut
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := tree.End(ending, process.KillLadder()); err != nil {
		return errors.Join(why, err)
	}
	return why
}
