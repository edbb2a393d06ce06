//go:build !linux

package process

import (
	"context"

	"hermes-supervisor/fsstate/ident"
)

// awaitForeign polls: only Linux tells how a process ended that we are not the parent of.
func awaitForeign(ctx context.Context, id ident.Ident, ready func()) (Exit, bool, error) {
	ready()
	return pollForeign(ctx, id)
}
