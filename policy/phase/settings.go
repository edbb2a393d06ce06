package phase

import (
	"slices"
	"time"
)

// Policy is when a service that ended by itself is started again.
type Policy int

// The three policies. Settings.RestartExit and ParkExit go before them.
const (
	Always    Policy = iota // after every end
	OnFailure               // unless it ended with exit status 0
	Never                   // not at all
)

var policyNames = [...]string{"always", "on-failure", "never"}

// String returns "always", "on-failure" or "never".
func (p Policy) String() string { return nameOf(policyNames[:], int(p)) }

// MarshalText returns the text of String; a value outside the three is an error.
func (p Policy) MarshalText() ([]byte, error) {
	return marshalName("restart policy", policyNames[:], int(p))
}

// UnmarshalText reads the text of String; any other text is an error.
func (p *Policy) UnmarshalText(text []byte) error {
	i, err := parseName("restart policy", policyNames[:], string(text))
	if err == nil {
		*p = Policy(i)
	}
	return err
}

// MaxStormStarts is the most that Settings.StormStarts can be: as many times
// are kept in the record of a service that is in a storm.
const MaxStormStarts = 1000

// Settings are what a person may tune, for one service.
type Settings struct {
	Policy      Policy
	Delay       time.Duration // of the second automatic restart in a row, doubled for each further one; 0 or less: none
	MaxDelay    time.Duration // ceiling of the doubling; below Delay: no doubling
	ResetAfter  time.Duration // a run that was ready for so long ends the streak; 0 or less: every run that became ready
	StormStarts int           // automatic starts that fit into any StormWindow; below 1: the default; above MaxStormStarts: that
	StormWindow time.Duration // 0 or less: the default
	RestartExit []int         // exit statuses that ask for a restart, whatever the policy
	ParkExit    []int         // exit statuses that ask for no start until an operator orders one; they go before RestartExit
}

// Defaults returns: always; 1 second doubling to 5 minutes, over after 10
// minutes up; at most 10 automatic starts a minute; 75 asks for a restart, 78
// parks.
func Defaults() Settings {
	return Settings{
		Policy:      Always,
		Delay:       time.Second,
		MaxDelay:    5 * time.Minute,
		ResetAfter:  10 * time.Minute,
		StormStarts: 10,
		StormWindow: time.Minute,
		RestartExit: []int{75},
		ParkExit:    []int{78},
	}
}

// bound and window: a floor that can be switched off is none, so what is out
// of range does not switch it off.
func (s *Settings) bound() int {
	if s.StormStarts < 1 {
		return Defaults().StormStarts
	}
	return min(s.StormStarts, MaxStormStarts)
}

func (s *Settings) window() time.Duration {
	if s.StormWindow <= 0 {
		return Defaults().StormWindow
	}
	return s.StormWindow
}

func (s *Settings) ceiling() time.Duration { return max(s.Delay, s.MaxDelay, 0) }

// longest is how far ahead of the clock State.NextAt can be.
func (s *Settings) longest() time.Duration { return max(s.ceiling(), s.window()) }

func (s *Settings) parks(x Exit) bool { return x.status(s.ParkExit) }

func (s *Settings) asksAgain(x Exit) bool { return x.status(s.RestartExit) }

// status reports whether the leader was seen to exit with one of the codes.
func (x *Exit) status(codes []int) bool {
	return x.Observed && x.Signal == 0 && slices.Contains(codes, x.Code)
}
