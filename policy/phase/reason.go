package phase

// Reason is why a service is in its phase. The constants below are all there
// are; the words are written to disk and to --json, so they stay.
type Reason string

// Why it is down, or going down. Until its tree is empty, a service in Stopping
// or Killing bears the reason that it will be down for, or be started again for.
const (
	ReasonNew            Reason = ""                // the zero State
	ReasonStopped        Reason = "stopped"         // OrderStop
	ReasonShutdown       Reason = "shutdown"        // Shutdown
	ReasonRestartOrdered Reason = "restart-ordered" // OrderRestart, or OrderStart in a stop
	ReasonExited         Reason = "exited"          // exit status 0
	ReasonCrashed        Reason = "crashed"         // another exit status, or a signal
	ReasonUnobserved     Reason = "end-unobserved"
	ReasonAskedAgain     Reason = "asked-for-restart" // Settings.RestartExit
	ReasonParked         Reason = "parked"            // Settings.ParkExit
	ReasonLaunchFailed   Reason = "launch-failed"
	ReasonNotReady       Reason = "not-ready"
	ReasonUnhealthy      Reason = "unhealthy"
	ReasonLeftover       Reason = "leftover"
)

// Why it waits.
const (
	ReasonBackOff   Reason = "back-off"
	ReasonCrashLoop Reason = "crash-loop"
)

// Why it is up, or coming up.
const (
	ReasonOrdered   Reason = "ordered"
	ReasonRestarted Reason = "restarted"
	ReasonResumed   Reason = "resumed"
	ReasonBoot      Reason = "boot"
	ReasonReady     Reason = "ready"
	ReasonAdopted   Reason = "adopted"
)

// ReasonOwnerUnknown holds a service in any phase: State.Held has the reason
// that it was in this phase for.
const ReasonOwnerUnknown Reason = "owner-unknown"

// wording is a reason for people: what is, and what would change it.
type wording struct {
	reason       Reason
	text, remedy string
}

var wordings = []wording{
	{ReasonNew, "nobody has started it yet", "`start NAME`"},
	{ReasonStopped, "an operator stopped it", "`start NAME`"},
	{ReasonShutdown, "the supervisor was stopped in order, and the service with it", "`run` starts it again"},
	{ReasonRestartOrdered, "an operator ordered a new start, and the old one ends first", ""},
	{ReasonExited, "it ended by itself with exit status 0", "`start NAME`; restart = \"always\" brings it back after every end"},
	{ReasonCrashed, "it ended by itself with a failure", "read `logs NAME`, then `start NAME`"},
	{ReasonUnobserved, "it ended while no supervisor was there to see how", "read `logs NAME`, then `start NAME`"},
	{ReasonAskedAgain, "its exit status asked for a restart", ""},
	{ReasonParked, "its exit status asked not to be started again", "read `logs NAME`, settle what it says, then `start NAME`"},
	{ReasonLaunchFailed, "it could not be launched", "check its command, cwd and limits in hermes.toml, then `start NAME`"},
	{ReasonNotReady, "it did not become ready before its start deadline", "read `logs NAME`; a longer start deadline allows for a slower start"},
	{ReasonUnhealthy, "it was alive and failed its health check", "read `logs NAME`, then `start NAME`"},
	{ReasonLeftover, "something of a launch that had ended still lives, and is ended first", ""},

	{ReasonBackOff, "its next automatic start waits for the end of its back-off", "`start NAME` starts it now"},
	{ReasonCrashLoop, "it ends again and again, so its automatic starts are slowed", "read `logs NAME`, settle what ends it, then `start NAME`"},

	{ReasonOrdered, "an operator started it", ""},
	{ReasonRestarted, "it was restarted automatically after its last end", ""},
	{ReasonResumed, "it is wanted up, and a new supervisor started it", ""},
	{ReasonBoot, "it is wanted up, and was started afresh after a boot", ""},
	{ReasonReady, "it is up and ready", ""},
	{ReasonAdopted, "a new supervisor found it alive and took it over", ""},

	{ReasonOwnerUnknown, "nobody can tell whether it lives, so it is neither signalled nor started", "look from the machine or container that started it, and end it there; it goes on once its witness is free"},
}

// Reasons returns every reason there is, in the order of the constants.
func Reasons() []Reason {
	all := make([]Reason, len(wordings))
	for i, w := range wordings {
		all[i] = w.reason
	}
	return all
}

// Text returns the reason as one line for people. A word that is no reason, as
// a newer version may have written it, is its own text.
func (r Reason) Text() string {
	if w, ok := r.wording(); ok {
		return w.text
	}
	return string(r)
}

// Remedy returns what would change it, "" where nothing would or need. NAME
// stands for the service; commands are named without the program.
func (r Reason) Remedy() string {
	w, _ := r.wording()
	return w.remedy
}

func (r Reason) wording() (wording, bool) {
	for _, w := range wordings {
		if w.reason == r {
			return w, true
		}
	}
	return wording{}, false
}

// ended reports whether a service that is down for this reason ended by itself
// and was left so by its restart policy.
func (r Reason) ended() bool {
	switch r {
	case ReasonExited, ReasonCrashed, ReasonUnobserved, ReasonLaunchFailed, ReasonNotReady, ReasonUnhealthy:
		return true
	default:
		return false
	}
}
