package follow

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
	"hermes-supervisor/policy/phase"
)

// The events that are told.
const (
	EventGaveUp    = GaveUp       // a turn was given up: it is in ended/
	EventParked    = "parked"     // a service is not started again
	EventCrashLoop = "crash-loop" // a service has begun to end again and again
	EventContinued = "continued"  // the continuation of a turn has begun
)

// Events are all that can be told.
func Events() []string { return []string{EventGaveUp, EventParked, EventCrashLoop, EventContinued} }

// noticeSchema is the version of the contract that Notice is.
const noticeSchema = 1

// Notice is what the command reads from its stdin: one JSON object in one line. It never holds a prompt.
type Notice struct {
	Schema  int       `json:"schema"`
	ID      string    `json:"id"` // the same where a notice is told again, as its command was cut by a stop
	Event   string    `json:"event"`
	Time    time.Time `json:"time"` // of the event
	Home    string    `json:"home"`
	Profile string    `json:"profile,omitempty"` // "" is the root home
	Session string    `json:"session,omitempty"`
	Service string    `json:"service,omitempty"`
	Agent   string    `json:"agent,omitempty"`
	Attempt int       `json:"attempt,omitempty"` // continuations so far
	Reason  string    `json:"reason,omitempty"`  // as `explain` and `status` have it
	Text    string    `json:"text"`              // one line for people
	// Suppressed counts what the rate has held back since the last notice, by event.
	Suppressed map[string]uint64 `json:"suppressed,omitempty"`
}

// notice is what an event gives to tell; nil: nothing. looping are the services that are known to be in a crash loop.
func notice(e fsstate.Event, home fsstate.Home, known func(service string) bool, looping map[string]bool) *Notice {
	n := &Notice{Schema: noticeSchema, Time: e.Time.UTC(), Home: home.Path, Profile: home.Profile, Reason: e.Reason}
	switch {
	case e.Kind == "service" && known(e.Service):
		n.Service = e.Service
		switch loops(e, looping); {
		case e.To == phase.Parked.String():
			n.Event = EventParked
		case e.To == phase.Waiting.String() && e.Reason == string(phase.ReasonCrashLoop) && !looping[e.Service]:
			looping[e.Service] = true
			n.Event = EventCrashLoop
		default:
			return nil
		}
		r := phase.Reason(e.Reason)
		n.Text = sentence(fmt.Sprintf("service %s: %s", n.Service, r.Text()), strings.ReplaceAll(r.Remedy(), "NAME", n.Service))
	case outcomeOf(e) == GaveUp:
		n.Event, n.Session, n.Agent, n.Attempt = EventGaveUp, e.Session, e.Agent, e.Attempt
		r := policy.Reason(e.Reason)
		n.Text = sentence(fmt.Sprintf("turn %.60q was given up: %s", e.Session, r.Text()), strings.ReplaceAll(r.Remedy(), "KEY", plain(e.Session)))
	case continuation(e):
		n.Event, n.Session, n.Agent, n.Attempt = EventContinued, e.Session, e.Agent, e.Attempt
		age := (time.Duration(min(e.Millis, maxMillis)) * time.Millisecond).Round(100 * time.Millisecond)
		n.Text = fmt.Sprintf("turn %.60q goes on: attempt %d, %s after it was cut", e.Session, e.Attempt, age)
	default:
		return nil
	}
	n.Text = cut(oneLine(n.Text), maxText)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %s %q %q %q %d", home.Path, n.Time.Format(time.RFC3339Nano), n.Event, e.Session, e.Service, e.Attempt))
	n.ID = hex.EncodeToString(sum[:16])
	return n
}

// loops takes a service out of its crash loop: one that waits for a plain back-off, was stopped, parked or ordered to start.
// The stop of run ends no loop, which goes on with the next run.
func loops(e fsstate.Event, looping map[string]bool) {
	switch e.To {
	case phase.Stopped.String(), phase.Parked.String():
		if phase.Reason(e.Reason) != phase.ReasonShutdown {
			delete(looping, e.Service)
		}
	case phase.Waiting.String(), phase.Starting.String():
		switch phase.Reason(e.Reason) {
		case phase.ReasonBackOff, phase.ReasonOrdered:
			delete(looping, e.Service)
		default:
		}
	}
}

// maxText bounds the text of a notice, in bytes.
const maxText = 1000

// plain is a session in a command line of a text; a key that would have to be quoted stays KEY.
func plain(session string) string {
	if fsstate.PlainName(session) {
		return session
	}
	return "KEY"
}

func sentence(what, remedy string) string {
	if remedy != "" {
		what += " (" + remedy + ")"
	}
	return what
}

// oneLine leaves out what a terminal would obey.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

func cut(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// sound tells whether a notice that was read from the file is one that we could have written.
func (n *Notice) sound() bool {
	size := len(n.ID) + len(n.Home) + len(n.Profile) + len(n.Session) + len(n.Service) + len(n.Agent) + len(n.Reason) + len(n.Text)
	return slices.Contains(Events(), n.Event) && n.Schema == noticeSchema && size <= 16<<10
}
