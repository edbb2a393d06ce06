package supervise

import (
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/follow"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/service"
	"hermes-supervisor/supervise/turn"
)

// Config is what the configuration says, as far as the supervisor needs it.
type Config struct {
	// Services are those of one home; the error is about the first that cannot be.
	Services func(fsstate.Home) ([]service.Spec, error)
	Turns    policy.Settings
	Agents   func(name string) (turn.Agent, bool)
	// MaxConcurrent bounds the continuations that this supervisor runs at once, Stagger is between the starts of two.
	MaxConcurrent int
	Stagger       time.Duration
	Handoffs      Handoffs
	Follow        follow.Config // metrics and notices
}

// Handoffs is what the configuration says of handoffs.
type Handoffs struct {
	Platform      func(name string) (handoff.Platform, error)
	MaxConcurrent int           // deliveries that run at once in one home
	Retention     time.Duration // how long a handoff is kept that has ended
}

// Order is what a person or a service manager tells the supervisor through signals.
type Order int

const (
	// OrderStop stops everything in order; a second one kills what is left.
	OrderStop Order = iota + 1
	// OrderReload reads the configuration again.
	OrderReload
	// OrderLeave is OrderStop where nothing has been stopped yet, and nothing else: it never kills.
	OrderLeave
)
