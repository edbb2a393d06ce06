package policy

import "slices"

// ExitFacts are how a run of an agent ended, as its keeper saw it.
type ExitFacts struct {
	Code     int  // exit status; meaningless when Signaled
	Signal   int  // number of the signal that ended it, when Signaled
	Signaled bool // the process that we waited for was ended by a signal

	StopRequested bool // somebody asked for the interrupt before the end was seen
	Draining      bool // the agent was told to end because of a shutdown; false while the drain only waits for it
	Stalled       bool // the keeper ended it because it showed no sign of life

	BeginEvent     bool // the agent's output says that it began, by events of which the last one would be the end's
	EndEvent       bool // the agent's output says that the turn is complete
	ErrorEvent     bool // the agent's output says that the turn ended in an error that it handled
	BusyEvent      bool // refused before the turn began: somebody else owns the session
	RateLimitEvent bool // the provider's limit ended it
	// UnknownSession: the run was to resume a session of the agent's own, and the agent says that it does not know it.
	UnknownSession bool

	CrashCodes     []int // the preset's exit codes that mean a crash; they go before ConcludedCodes
	ConcludedCodes []int // the preset's exit codes that mean an end, though they look like a signal
}

// Exit is the class of an end.
type Exit int

// The zero value is the one after which the work is continued: calling a crash
// concluded loses work, the reverse costs one run that is told to check first.
const (
	ExitCrashed        Exit = iota // the work was cut: policy decides on a continuation
	ExitConcluded                  // success or a handled error: never started again
	ExitInterrupted                // somebody asked for it: never continued
	ExitDrained                    // our shutdown: the marker stays for the next start
	ExitBusy                       // never began: the attempt is refunded, wait
	ExitRateLimited                // began and must wait: not a crash
	ExitUnknownSession             // never began, since there is nothing to resume: it is started afresh
)

// String returns "crashed", "concluded", "interrupted", "drained", "busy",
// "rate-limited" or "unknown-session".
func (e Exit) String() string {
	switch e {
	case ExitConcluded:
		return "concluded"
	case ExitInterrupted:
		return "interrupted"
	case ExitDrained:
		return "drained"
	case ExitBusy:
		return "busy"
	case ExitRateLimited:
		return "rate-limited"
	case ExitUnknownSession:
		return "unknown-session"
	case ExitCrashed:
		return "crashed"
	default:
		return "unknown"
	}
}

// MarshalText returns the text of String.
func (e Exit) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

const (
	sigint          = 2   // the same number on every system that has it
	shellSignalBase = 128 // what a shell or launcher adds to the signal of its child
)

// launcherSignals are the signals that a launcher's 128+n is believed for:
// HUP, ILL, ABRT, BUS, FPE, KILL, SEGV, TERM, SYS (Linux numbers). Others are
// left out, since agents use the range for errors too: Gemini answers an HTTP
// 401 with 145, which would be 128+17. TERM is in: without a stop of ours,
// somebody cut the work.
var launcherSignals = []int{1, 4, 6, 7, 8, 9, 11, 15, 31}

// ClassifyExit says whether a run concluded or was cut. What the agent itself
// said of its turn goes before how its process ended: a process can be killed
// after its work is done, and Hermes's terminal gateway, Claude Code and Gemini
// CLI exit 0 in the middle of it (tried). An event that blames others counts
// only with a failure, and one that says that the turn never began only with a
// failure of the agent's own: their words may be part of an answer, and after
// a refusal nothing is kept of the run.
func ClassifyExit(e ExitFacts) (Exit, Reason) {
	switch {
	case e.EndEvent:
		return ExitConcluded, ReasonEndEvent
	case e.BusyEvent && e.refused():
		return ExitBusy, ReasonBusy
	case e.RateLimitEvent && (e.Signaled || e.Code != 0) && !e.StopRequested:
		return ExitRateLimited, ReasonRateLimited
	case e.UnknownSession && e.refused():
		return ExitUnknownSession, ReasonUnknownSession
	case e.ErrorEvent:
		return ExitConcluded, ReasonHandledError
	case e.StopRequested:
		return ExitInterrupted, ReasonStopRequested
	case e.Draining:
		return ExitDrained, ReasonDrained
	case e.Stalled:
		return ExitCrashed, ReasonStalled
	case e.Signaled && e.Signal == sigint:
		return ExitInterrupted, ReasonInterruptSignal
	case e.Signaled:
		return ExitCrashed, ReasonKilled
	default:
		return classifyCode(e)
	}
}

// refused tells whether the agent can have turned the work down: it failed
// before it began, and nobody ended it, neither by a signal nor by an order.
func (e ExitFacts) refused() bool {
	bySignal := e.Signaled || e.Code == shellSignalBase+sigint || slices.Contains(launcherSignals, e.Code-shellSignalBase)
	return e.Code != 0 && !bySignal && !e.BeginEvent && !e.StopRequested && !e.Draining && !e.Stalled
}

// classifyCode: only the exit status is left to go by.
func classifyCode(e ExitFacts) (Exit, Reason) {
	switch {
	case slices.Contains(e.CrashCodes, e.Code):
		return ExitCrashed, ReasonCrashCode
	case slices.Contains(e.ConcludedCodes, e.Code):
		return ExitConcluded, ReasonConcludedCode
	case e.Code == shellSignalBase+sigint:
		return ExitInterrupted, ReasonInterruptSignal
	case slices.Contains(launcherSignals, e.Code-shellSignalBase):
		return ExitCrashed, ReasonLauncherSignal
	case e.Code == 0 && e.BeginEvent: // Gemini CLI at a SIGTERM
		return ExitCrashed, ReasonNoEnd
	case e.Code == 0:
		return ExitConcluded, ReasonSucceeded
	default:
		return ExitConcluded, ReasonHandledError
	}
}
