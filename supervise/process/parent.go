package process

import (
	"context"
	"os"
)

// startedBy is looked at before anything else: what ends while we read our configuration is still the one that started us.
var startedBy = os.Getppid()

// AwaitParent returns nil when the process that started this one has ended, and else the error of ctx. It is the process
// that is watched, and no thread of it: PR_SET_PDEATHSIG, which is not used here, fires already when the thread ends that
// has forked, as the threads of many runtimes do.
//
// A parent that had ended before this program began is not seen: whoever took its place as our parent (init, a subreaper, or
// anything else: its pid says nothing) is watched then. Only a pipe that the parent held tells of that. A parent outside
// of our pid namespace cannot be watched at all: its pid is 0 here, and only the end of ctx ends the call.
func AwaitParent(ctx context.Context) error {
	parent := startedBy
	if parent <= 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	return awaitParent(ctx, parent)
}
