//go:build unix

package process

import (
	"context"
	"os"
)

// pollParent waits without a handle: a process whose parent ends gets another one.
func pollParent(ctx context.Context, parent int) error {
	for os.Getppid() == parent {
		if err := Pause(ctx, parentPoll); err != nil {
			return err
		}
	}
	return nil
}
