package follow

import (
	"context"
	"errors"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/process"
)

// errUnseen is what is known of a command that has outlived its supervisor.
var errUnseen = errors.New("run died before its command had ended: it may not have been told")

const sealedLaunch = "notice" // what the seal is for

// launch is the command that tells the first pending notice, as the state names it: before it starts.
type launch struct {
	Instance string    `json:"instance"`
	Until    time.Time `json:"until"` // its limit
}

const (
	outlivedLook   = time.Second     // between two looks at a command that is not our child
	outlivedEnding = 5 * time.Second // for its tree to end
)

// outlive waits for a command that a supervisor has left which died, so that still one runs at a time, and ends it at its
// limit, or at an ordered stop. How it ended nobody knows.
func (s *session) outlive(ctx context.Context, d fsstate.Document, limit time.Duration) error {
	var l launch
	if !s.unseal(sealedLaunch, d, &l) || l.Instance == "" {
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
		why = process.ErrErrandCut
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), outlivedEnding)
	defer cancel()
	if err := tree.End(ending, process.KillLadder()); err != nil {
		return errors.Join(why, err)
	}
	return why
}
