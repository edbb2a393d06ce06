package process

import (
	"context"
	"time"

	"hermes-supervisor/fsstate/ident"
)

// foreignPoll is the time between two looks where a process cannot be waited for.
const foreignPoll = 200 * time.Millisecond

// pollForeign waits without a handle: that the process has ended is all that can be known.
func pollForeign(ctx context.Context, id ident.Ident) (Exit, bool, error) {
	for ident.Check(id) != ident.Dead { // what cannot be told is no end
		if err := Pause(ctx, foreignPoll); err != nil {
			return Exit{}, false, err
		}
	}
	return Exit{}, false, nil
}
