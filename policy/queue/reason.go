package queue

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reason is why a handoff stands as it does, or why something was not done to it. The words are written to disk and to
// --json, so they stay.
type Reason string

// Why it changed.
const (
	ReasonRequested         Reason = "requested"
	ReasonClaimed           Reason = "claimed"
	ReasonDelivered         Reason = "delivered"
	ReasonRetried           Reason = "retried"
	ReasonTakenBack         Reason = "taken-back"
	ReasonCancelAsked       Reason = "cancel-asked"
	ReasonCancelled         Reason = "cancelled" // before anybody claimed it
	ReasonDeliveryCancelled Reason = "delivery-cancelled"
	ReasonHandlerFailed     Reason = "handler-failed"
	ReasonNotStarted        Reason = "not-started"
	ReasonTimedOut          Reason = "timed-out"
	ReasonShutdown          Reason = "shutdown"
	ReasonClaimerDied       Reason = "claimer-died"
	ReasonGaveUp            Reason = "gave-up"
)

// Why it did not, or has not yet.
const (
	ReasonWaits          Reason = "waits"
	ReasonAwaitsClaim    Reason = "awaits-claim"
	ReasonSameKey        Reason = "same-key"
	ReasonOtherRequest   Reason = "other-request"
	ReasonOpen           Reason = "open"
	ReasonRunning        Reason = "running"
	ReasonFinished       Reason = "finished"
	ReasonNotClaimed     Reason = "not-claimed"
	ReasonOtherClaim     Reason = "other-claim"
	ReasonClaimerUnknown Reason = "claimer-unknown"
	ReasonTurnOpen       Reason = "turn-open"
	ReasonNotServed      Reason = "not-served"
	ReasonUnverified     Reason = "unverified"
	ReasonStateUnknown   Reason = "state-unknown"
)

var texts = map[Reason]string{
	ReasonRequested:         "it was requested",
	ReasonClaimed:           "it is being delivered",
	ReasonDelivered:         "it was delivered",
	ReasonRetried:           "it is to be delivered after all",
	ReasonTakenBack:         "whoever delivered it died; its turn goes on",
	ReasonCancelAsked:       "whoever delivers it was asked to stop",
	ReasonCancelled:         "it was cancelled",
	ReasonDeliveryCancelled: "it was cancelled while it was being delivered",
	ReasonHandlerFailed:     "whoever delivered it reported a failure",
	ReasonNotStarted:        "the platform's command could not be started, so nothing was delivered",
	ReasonTimedOut:          "its delivery took too long and was ended",
	ReasonShutdown:          "a shutdown ended its delivery",
	ReasonClaimerDied:       "whoever delivered it died",
	ReasonGaveUp:            "its turn was given up",

	ReasonWaits:          "it waits for its turn",
	ReasonAwaitsClaim:    "it waits for `handoff claim` of the program that serves its platform",
	ReasonSameKey:        "this key's request was recorded before",
	ReasonOtherRequest:   "this key belongs to a request for something else",
	ReasonOpen:           "the session has an open handoff",
	ReasonRunning:        "it is being delivered by somebody else",
	ReasonFinished:       "it has ended",
	ReasonNotClaimed:     "nobody has claimed it",
	ReasonOtherClaim:     "another claim has it",
	ReasonClaimerUnknown: "nobody can tell whether its claimer lives",
	ReasonTurnOpen:       "a turn of its session, or of the one that it goes to, is open",
	ReasonNotServed:      "nobody who is configured here delivers to its platform",
	ReasonUnverified:     "its record does not verify, so nobody who may has requested it",
	ReasonStateUnknown:   "its record is in no known state",
}

// Reasons returns every reason there is, in no order.
func Reasons() []Reason {
	all := make([]Reason, 0, len(texts))
	for r := range texts {
		all = append(all, r)
	}
	return all
}

// Text returns the reason as one line for people. A word that is no reason is its own text.
func (r Reason) Text() string {
	if text, ok := texts[r]; ok {
		return text
	}
	return string(r)
}

// MayBeDelivered tells of a failure whether something of it may have been delivered all the same.
func (r Reason) MayBeDelivered() bool {
	switch r {
	case ReasonClaimerDied, ReasonTimedOut, ReasonShutdown, ReasonDeliveryCancelled, ReasonGaveUp:
		return true
	default:
		return false
	}
}

// MaxError is how long the recorded error of a handoff may be, in characters.
const MaxError = 500

// Failure is the error that a failed handoff records: what happened, whether it may have been delivered, and how to try
// again. detail is the handler's own word, "" where it said nothing; it is what is shortened.
func Failure(r Reason, id, detail string) string {
	detail = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(detail, "\uFFFD"), blank), " ")
	detail = strings.TrimRight(detail, ". ")
	head := r.Text()
	if r == ReasonHandlerFailed && detail != "" {
		head = ""
	}
	tail := ". Try again with /handoff in the session, or `hermes-supervisor handoff retry " + id + "`"
	if r.MayBeDelivered() {
		tail = "; it may have been delivered, so look there first" + tail
	}
	if head != "" && detail != "" {
		head += ": "
	}
	if room := MaxError - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail); utf8.RuneCountInString(detail) > room {
		detail = string([]rune(detail)[:max(room-1, 0)]) + "…"
	}
	return head + detail + tail
}

// blank tells what separates words, control characters included: the error is shown on terminals.
func blank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// Prompt is what the agent of a platform is asked that is a session of its own.
func Prompt(session, note, data string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Session %s was handed over to this one.", session)
	if note != "" {
		b.WriteString("\n\n" + note)
	}
	if data != "" {
		b.WriteString("\n\n" + data)
	}
	return b.String()
}
