package phase

import (
	"fmt"
	"strings"
)

// Phase is where a service is in its life.
type Phase int

// The seven phases. Something of the service may live in Starting, Running,
// Stopping and Killing, and only there.
const (
	Stopped  Phase = iota // nothing lives and nothing is pending
	Waiting               // nothing lives, an automatic start is due at State.NextAt
	Starting              // launched, not ready yet
	Running               // ready
	Stopping              // asked to end, and given time for it
	Killing               // what is left of the tree is being killed
	Parked                // it asked not to be started again: only an operator's start leaves it
)

var phaseNames = [...]string{"stopped", "waiting", "starting", "running", "stopping", "killing", "parked"}

const phases = len(phaseNames)

// String returns "stopped", "waiting", "starting", "running", "stopping",
// "killing" or "parked".
func (p Phase) String() string { return nameOf(phaseNames[:], int(p)) }

// MarshalText returns the text of String; a value outside the seven is an error.
func (p Phase) MarshalText() ([]byte, error) { return marshalName("phase", phaseNames[:], int(p)) }

// UnmarshalText reads the text of String; any other text is an error.
func (p *Phase) UnmarshalText(text []byte) error {
	i, err := parseName("phase", phaseNames[:], string(text))
	if err == nil {
		*p = Phase(i)
	}
	return err
}

// Live reports whether something of the service may live in this phase.
func (p Phase) Live() bool { return p >= Starting && p <= Killing }

func nameOf(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return "unknown"
	}
	return names[i]
}

func marshalName(what string, names []string, i int) ([]byte, error) {
	if i < 0 || i >= len(names) {
		return nil, fmt.Errorf("write %s %d: there is none", what, i)
	}
	return []byte(names[i]), nil
}

func parseName(what string, names []string, text string) (int, error) {
	for i, name := range names {
		if name == text {
			return i, nil
		}
	}
	return 0, fmt.Errorf("read %s %q: not one of %s", what, text, strings.Join(names, ", "))
}
