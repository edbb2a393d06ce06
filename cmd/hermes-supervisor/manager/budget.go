package manager

import (
	"time"

	"hermes-supervisor/cmd/hermes-supervisor/config"
)

// What an ordered stop of `run` does beside the times that hermes.toml says.
const (
	// turnDrain is --drain of `turn run`, by which a keeper waits for its turn: `run` starts keepers without one.
	turnDrain = 20 * time.Second
	// ladder is SIGTERM to the agent or the platform's command, then to what is outside of its group, then SIGKILL.
	ladder = 5*time.Second + leftovers
	// leftovers is what the rest of a tree gets between SIGTERM and SIGKILL.
	leftovers = 2 * time.Second
	// shelter is how long the stop of a Hermes backend may write down the turns that it cuts.
	shelter = 2 * time.Second
	// margin is for the disk, and for a machine that is shutting down everything else at the same time.
	margin = 15 * time.Second
)

// Budget is how long an ordered stop of `run` may take. Its parts run beside each other, so the longest counts.
type Budget struct {
	Services time.Duration // the longest stop_timeout, and the end of what is left of that tree
	Slowest  string        // the service that has it, "" where none is configured
	Turns    time.Duration // continued turns that may finish, then the end of their agents
	Handoffs time.Duration // [handoff] drain, then the end of the platforms' commands; 0 without a platform
	Margin   time.Duration
}

// Total is what a service manager must grant: a shorter time has it kill `run` in the middle of its stop.
func (b Budget) Total() time.Duration {
	return max(b.Services, b.Turns, b.Handoffs) + b.Margin
}

// StopBudget is that of a configuration.
func StopBudget(cfg config.Config) Budget {
	b := Budget{Turns: turnDrain + ladder + leftovers, Margin: margin}
	for _, s := range cfg.Services {
		if stop := shelter + time.Duration(s.StopTimeout) + leftovers; stop > b.Services {
			b.Services, b.Slowest = stop, s.Name
		}
	}
	if len(cfg.Handoff.Platforms) > 0 {
		b.Handoffs = time.Duration(cfg.Handoff.Drain) + ladder + leftovers
	}
	return b
}
