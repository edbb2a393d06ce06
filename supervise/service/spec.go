package service

import (
	"maps"
	"reflect"
	"syscall"
	"time"

	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/health"
	"hermes-supervisor/supervise/process"
)

// Spec is what the configuration says of one service in one home, with everything expanded.
type Spec struct {
	Name      string
	Command   []string          // argv, no shell
	Dir       string            // working directory; empty: the home
	Env       map[string]string // beside our own environment
	Unset     []string          // names that are not inherited
	Autostart bool              // started by the first supervisor that sees it; later its record says what was ordered
	Settings  phase.Settings

	// KnownFlags stand behind Command where the help text of Program has them, which is Command without what limits it.
	KnownFlags, Program []string
	// HoldsTurns: turns run in it, and what was cut when it died may go on when it is up again.
	HoldsTurns bool
	// SecretVar is the variable in which each launch gets a secret of its own, see Told; "": none.
	SecretVar string

	BeforeStop  Notice // nil: the signal says it all
	StopSignal  syscall.Signal
	StopScope   process.Scope
	StopTimeout time.Duration

	Ready         *health.Probe // nil: ready when it has started; of a line of output the first group is kept, see Told
	ReadyDeadline time.Duration
	Health        *health.Probe // nil: alive is healthy
	Interval      time.Duration // between two checks
	Timeout       time.Duration // of one check
	Failures      int           // in a row

	// Terminal gives each launch this process's own stdin, stdout and stderr, which are its controlling terminal: see
	// process.Spec. Nothing that it prints is kept then. What was adopted is not at our terminal.
	Terminal bool
	Pipe     bool   // its output goes through pipes of ours, which end with us
	LogBound int64  // bytes of output that are kept
	Digest   string // of everything that a launch takes over: another one needs a restart
}

// hangUpAfter is what a program at a terminal gets between StopSignal and SIGHUP.
const hangUpAfter = 2 * time.Second

// ladder is the polite part of a stop. At a terminal it ends with SIGHUP, since an interactive shell ignores SIGTERM and
// takes only this for its end (systemd has SendSIGHUP= for them).
func (s Spec) ladder() process.Ladder {
	if s.Terminal {
		wait := min(hangUpAfter, s.StopTimeout/2)
		return process.Ladder{
			{Signal: s.StopSignal, Scope: s.StopScope, Wait: wait},
			{Signal: syscall.SIGHUP, Scope: s.StopScope, Wait: s.StopTimeout - wait},
		}
	}
	return process.Ladder{{Signal: s.StopSignal, Scope: s.StopScope, Wait: s.StopTimeout}}
}

// environ is the environment of one launch.
func (s Spec) environ(base []string, ours map[string]string) []string {
	set := maps.Clone(s.Env)
	if set == nil {
		set = map[string]string{}
	}
	maps.Copy(set, ours)
	return process.ChildEnv(base, set, s.Unset...)
}

// Same tells whether two configurations of a service are the same.
func (s Spec) Same(o Spec) bool { return reflect.DeepEqual(s, o) }
