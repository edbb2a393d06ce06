package phase

// Kind is what happened.
type Kind int

// The fourteen kinds of event. The zero Event is an order of epoch 0, which is
// older than every record: it changes nothing.
const (
	OrderStart    Kind = iota // the operator wants it up
	OrderStop                 // the operator wants it down
	OrderRestart              // the operator wants it up, and anew if it is up
	Launched                  // the fork is recorded
	LaunchFailed              // there was no fork, or nothing is left of it: no Gone follows
	Ready                     // its readiness was seen, or it has no probe for it
	ReadyDeadline             // not ready in time
	Exited                    // the leader has ended; the rest of the tree may live
	Unhealthy                 // its health probe gave it up
	Due                       // State.NextAt has come
	StopDeadline              // the grace of the stop is over
	Gone                      // the whole tree is empty
	Adopted                   // a new supervisor found it alive
	Shutdown                  // the supervisor stops in order: end it, and start it again with the next one
)

var kindNames = [...]string{
	"order-start", "order-stop", "order-restart", "launched", "launch-failed", "ready", "ready-deadline",
	"exited", "unhealthy", "due", "stop-deadline", "gone", "adopted", "shutdown",
}

const kinds = len(kindNames)

// String returns the kind in lower case with hyphens: "order-start", "due".
func (k Kind) String() string { return nameOf(kindNames[:], int(k)) }

// order reports whether an operator says it; Epoch is then the order's.
func (k Kind) order() bool { return k == OrderStart || k == OrderStop || k == OrderRestart }

// Event is one thing that happened to a service.
type Event struct {
	Kind  Kind
	Epoch int64 // of an order: its own number; of Shutdown: ignored; else: State.Launch of the launch that it tells of
	Exit  *Exit // how the leader ended, for Exited, and for Gone where nothing said it before; nil: nobody saw it. Of LaunchFailed only Reason and At count
}

// Act is what the runner has to do next, once the new state is on disk.
type Act int

// The five acts.
const (
	Nothing Act = iota
	Launch      // start the service as launch number State.Launch
	Stop        // walk the polite part of the stop ladder, then say StopDeadline
	Kill        // SIGKILL what lives of the tree, and say Gone when it is empty
	Wait        // say Due at State.NextAt

	// impossible is what a step answers that cannot be; it leaves the package as an error.
	impossible Act = -1
)

var actNames = [...]string{"nothing", "launch", "stop", "kill", "wait"}

// String returns "nothing", "launch", "stop", "kill" or "wait".
func (a Act) String() string { return nameOf(actNames[:], int(a)) }
