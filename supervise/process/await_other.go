//go:build !linux

package process

import (
	"context"
	"time"
)

// awaitAny waits for d: there is no handle here that tells the end of another's child.
func awaitAny(ctx context.Context, _ []proc, d time.Duration) error { return Pause(ctx, d) }
