package process

import (
	"context"

	"hermes-supervisor/fsstate/ident"
)

// AwaitEnd waits for the end of a living process that we are not the parent of, and tells how it ended where the
// system can (known). A process that is not, or no longer, the one of the identity has ended already and nothing is
// known of its exit. The error is that of ctx, or says why the process cannot be waited for. From the call of ready on
// (nil: nobody wants to know) the end is not missed.
func AwaitEnd(ctx context.Context, id ident.Ident, ready func()) (exit Exit, known bool, err error) {
	if ready == nil {
		ready = func() {}
	}
	return awaitForeign(ctx, id, ready)
}
