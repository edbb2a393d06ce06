//go:build unix

package process

import (
	"context"
	"os"
	"time"
)

// parentPoll is the time between two looks at the parent where there is nothing to wait with.
const parentPoll = time.Second

// pollParent waits without a handle: a process whose parent ends gets another one.
func pollParent(ctx context.Context, parent int) error {
	for os.Getppid() == parent {
		if err := Pause(ctx, parentPoll); err != nil {
			return err
		}
	}
	return nil
}
