package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// The exit codes of DESIGN.md. `turn run` returns the agent's own code where the turn concluded.
const (
	exitFailed        = 1
	exitUsage         = 2
	exitState         = 74
	exitBusy          = 75
	exitGaveUp        = 76
	exitNotPermitted  = 77
	exitConfiguration = 78
	exitWaitRanOut    = 124
)

// waitError is a wait that ran out (exit 124).
type waitError struct{ problem string }

func (e *waitError) Error() string { return e.problem }

// reasons are the words of the codes in the JSON of an error.
var reasons = map[int]string{
	exitFailed: "failed", exitUsage: "usage", exitState: "state", exitBusy: "busy", exitGaveUp: "gave_up",
	exitNotPermitted: "not_permitted", exitConfiguration: "configuration", exitWaitRanOut: "wait_ran_out",
}

// exitCode is the one place that maps errors to exit codes. try is what may help: arguments of this program, or "".
func exitCode(err error) (code int, try string) {
	var (
		usage     *turn.UsageError
		busy      *turn.BusyError
		locked    *fsstate.LockedError
		answer    *answerError
		elsewhere *busyError
		denied    *turn.PermissionError
		home      *fsstate.HomeError
		cfg       *config.Error
		noAgent   *config.UnknownAgentError
		noPlace   *config.UnknownPlatformError
		refused   *handoff.RefusedError
		waited    *waitError
		ended     *turn.EndedError
		start     *process.StartError
		corrupt   *fsstate.CorruptError
		version   *fsstate.VersionError
		unsafe    *fsstate.UnsafeError
		untrusted *fsstate.UntrustedError
		path      *fs.PathError
		link      *os.LinkError
		errno     syscall.Errno
	)
	switch {
	case errors.As(err, &unsafe): // one that is too large to be read among them: that is no fault of the request's
		return exitState, ""
	case errors.As(err, &usage), errors.As(err, &home), errors.Is(err, fsstate.ErrTooLarge):
		return exitUsage, ""
	case errors.As(err, &busy):
		return exitBusy, "explain " + word(busy.Session)
	case errors.As(err, &answer):
		return answer.code, ""
	case errors.As(err, &elsewhere):
		return exitBusy, ""
	case errors.As(err, &locked):
		return exitBusy, ""
	case errors.As(err, &denied):
		return exitNotPermitted, ""
	case errors.As(err, &refused):
		return refusedCode(refused.Reason), "handoff show " + refused.ID
	case errors.As(err, &cfg), errors.As(err, &noAgent), errors.As(err, &noPlace), errors.Is(err, handoff.ErrUnsigned):
		return exitConfiguration, ""
	case errors.As(err, &waited):
		return exitWaitRanOut, ""
	case errors.As(err, &ended):
		return exitFailed, resuming(ended.Turn.Session, ended.Turn.Agent)
	case errors.Is(err, turn.ErrNoTurn):
		return exitFailed, "turn list"
	case errors.Is(err, handoff.ErrNone):
		return exitFailed, "handoff list --all"
	case errors.As(err, &start):
		return exitFailed, ""
	case errors.As(err, &untrusted):
		return exitState, "--unsafe-filesystem …, if you know that nobody else uses this home"
	case errors.As(err, &corrupt), errors.As(err, &version), errors.As(err, &path), errors.As(err, &link), errors.As(err, &errno):
		return exitState, ""
	}
	return exitFailed, ""
}

// refusedCode is the exit code of what the state of a handoff does not allow: busy where waiting may help.
func refusedCode(r queue.Reason) int {
	switch r {
	case queue.ReasonOpen, queue.ReasonTurnOpen, queue.ReasonRunning, queue.ReasonClaimerUnknown, queue.ReasonCancelAsked:
		return exitBusy
	case queue.ReasonUnverified:
		return exitNotPermitted
	default:
		return exitFailed
	}
}

// report prints the one line of an error, and with --json the same as an object.
func (a *app) report(err error) int {
	code, try := exitCode(err)
	if try != "" {
		home := ""
		if a.home != "" {
			home = "--home " + word(a.home) + " "
		}
		try = "hermes-supervisor " + home + try
	}
	if a.json {
		fields := map[string]any{"schema": schema, "type": "exit_error", "code": code, "reason": reasons[code], "message": err.Error()}
		if try != "" {
			fields["try"] = try
		}
		if refused, is := errors.AsType[*handoff.RefusedError](err); is {
			fields["handoff"], fields["state"], fields["refused"] = refused.ID, refused.State, refused.Reason
		}
		if a.jsonLine(fields) == nil {
			return code
		}
	}
	a.say("%v", oneLine(err))
	if try != "" {
		fmt.Fprintf(a.errs(), "try: %s\n", try)
	}
	return code
}

// isFinal tells of an error that a restart by the service manager would not mend.
func isFinal(err error) bool {
	if err == nil {
		return false
	}
	code, _ := exitCode(err)
	return code == exitUsage || code == exitGaveUp || code == exitNotPermitted || code == exitConfiguration
}
