package handoff

import (
	"testing"

	"hermes-supervisor/policy/queue"
)

// Its stderr is all that tells of it: it has another stdin, no environment, a session of its own, and the command that
// started it is gone, as is the keeper of both.
func TestWhatHoldsOnlyTheStderrOfADeadClaimersHandlerHoldsBackTheReclaim(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	id, k := h.delivery("leave", "all", "[", "strip", "stdin,env", "note", "./log", "say", "child", "await", "never", "]", "await", "never")
	child, handler := h.said("child"), h.started(1)
	h.recorded(id)
	k.kill()
	h.killPID(handler)
	h.kept(id, queue.ReasonRunning)
	h.killPID(child)
	h.takenBack(id)
	h.ran(1)
}
