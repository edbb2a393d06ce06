package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// Agent is what runs a turn: argv and what its output and exit codes mean. It comes from hermes.toml, a preset or the
// process's own command line, never from a state file.
type Agent struct {
	Name    string   // "" for a command line of its own
	Kind    string   // the agent that such a command line is known to run; "" = not known
	Command []string // argv; {{prompt}}, {{prompt_file}}, {{session}}, {{agent_session}} and {{attempt}} are expanded once in each element
	Resume  []string // argv of a run that goes on with the agent's own session; empty: Command
	// First is the argv of a first run that has the prompt in words of its own; empty: Command.
	First  []string
	Env    map[string]string
	Unset  []string
	Events Events
	// OnStderr are the events that are looked for on stderr alone, since the model's answer is on stdout and could hold them.
	OnStderr OnStderr

	CrashExit, ConcludedExit []int

	// Unattended: turns that its hooks reported are continued without a person.
	Unattended bool

	Own OwnSession
	// Stop ends the agent in an orderly way, as a shutdown does; nil: process.StopLadder.
	Stop func(grace time.Duration) process.Ladder `json:"-"`
}

const stopGrace = 5 * time.Second

// stop is the ladder of an orderly end.
func (a Agent) stop() process.Ladder {
	if a.Stop == nil {
		return process.StopLadder(stopGrace)
	}
	return a.Stop(stopGrace)
}

// OwnSession is what is known of the agent's own sessions.
type OwnSession struct {
	ID     string         // the id of the first run where it is known already; "" = it is not
	Chosen bool           // we choose the id: a new UUID for each session
	Told   *regexp.Regexp // the line in which the agent tells it, in its first group; nil: it tells none
	// A run that was to resume a session says that there is none by a line of its output, or by an exit code.
	Unknown     *regexp.Regexp
	UnknownExit []int
	// NewID: a session that could not be resumed is started afresh under a new id, since the old one is spoilt.
	NewID bool
}

// Events are the lines of output by which an agent says how its turn stands; nil where it has none.
type Events struct {
	Begin           *regexp.Regexp // stdout: from there on an exit code 0 is no end without End or Error
	End, Error      *regexp.Regexp // stdout
	Busy, RateLimit *regexp.Regexp // stdout or stderr (see OnStderr), with a non-zero exit
}

// OnStderr are the events that may come on stdout or stderr, true where stdout says nothing of them.
type OnStderr struct{ Session, UnknownSession, Busy, RateLimit bool }

// readsAlong tells whether something in the agent's output matters here.
func (a Agent) readsAlong() bool {
	e := a.Events
	return e.Begin != nil || e.End != nil || e.Error != nil || e.Busy != nil || e.RateLimit != nil || a.Own.Told != nil || a.Own.Unknown != nil
}

// Request is one call of `turn run`.
type Request struct {
	Session      string
	Prompt       string
	HasPrompt    bool // false: continue what is there
	Source       string
	ID           string // names the request for callers that retry; "" = none
	Agent        Agent
	AutoContinue bool
	Receipt      string        // shell command; "" = none
	Stall        time.Duration // 0 = the turn's own, if it has one
	Wait         time.Duration // how long to wait for a living owner instead of being refused
	Drain        time.Duration // how long a shutdown waits for the turn
	HoldOutput   bool
	Fresh        bool // a person resumes: a spent budget or an old age does not count
	Cwd          string
	Call         string // names the command line that the agent was called by, where that is in no record; "" = none
	ContinuedBy  string // ByRun, or "" for a person
	Input        []byte // what the agent's stdin holds where the prompt does not come by it; kept in memory only
}

// ByRun is the ContinuedBy of a keeper that `run` started: it ends with the ordered stop of `run`, and of a later one.
const ByRun = "run"

// UsageError is a request that cannot be carried out as it was given (exit 2); nothing was written.
type UsageError struct{ Problem string }

func (e *UsageError) Error() string { return e.Problem }

// maxArgument is what Linux takes as one argv element (MAX_ARG_STRLEN, less the final NUL); the note that a
// continuation puts before the prompt must fit too.
const (
	maxArgument = 131071
	noteRoom    = 4096
)

// check refuses what could not be kept or handed over whole, before anything is written.
func (r Request) check() error {
	switch {
	case r.Session == "":
		return &UsageError{"session key is empty"}
	case !utf8.ValidString(r.Session):
		return &UsageError{"session key is not valid UTF-8, so a JSON record cannot hold it"}
	case r.HasPrompt && r.Prompt == "":
		return &UsageError{"prompt is empty"}
	case !utf8.ValidString(r.Prompt):
		return &UsageError{"prompt is not valid UTF-8, so a JSON record cannot hold it unchanged"}
	case !utf8.ValidString(r.ID) || !utf8.ValidString(r.Source):
		return &UsageError{"--id or --source is not valid UTF-8"}
	case len(r.Agent.Command) == 0 || r.Agent.Command[0] == "":
		return &UsageError{"no command to run"}
	}
	for _, argv := range [][]string{r.Agent.First, r.Agent.Command, r.Agent.Resume} {
		for _, arg := range argv {
			if err := checkPlaceholders(arg); err != nil {
				return err
			}
			if strings.Contains(arg, "{{prompt}}") && len(r.Prompt)+noteRoom > maxArgument {
				return &UsageError{fmt.Sprintf("prompt of %d bytes does not fit one argument: let the agent read it from stdin or {{prompt_file}}", len(r.Prompt))}
			}
			if strings.Contains(arg, "{{prompt}}") && strings.ContainsRune(r.Prompt, 0) {
				return &UsageError{"prompt has a NUL byte, which no argument can hold"}
			}
		}
	}
	return nil
}

// Unfit tells why the agent can take a prompt that can be neither recorded nor repeated with a note before it, in words that
// suit people who have typed the agent's own command line; "" where it can be.
func (r Request) Unfit() string {
	text, err := json.Marshal(r.Prompt)
	switch {
	case !utf8.ValidString(r.Prompt):
		return "its prompt is not valid UTF-8"
	case err != nil || len(text) > fsstate.MaxRecord-fsstate.Room-recordRoom:
		return fmt.Sprintf("its prompt of %d bytes does not fit a record", len(r.Prompt))
	}
	for _, argv := range [][]string{r.Agent.First, r.Agent.Command, r.Agent.Resume} {
		for _, arg := range argv {
			if strings.Contains(arg, "{{prompt}}") && len(r.Prompt)+noteRoom > maxArgument {
				return fmt.Sprintf("with its prompt of %d bytes an argument has no room for what is said to a continuation", len(r.Prompt))
			}
		}
	}
	return ""
}

// recordRoom is what a new record has beside its prompt, with room to spare.
const recordRoom = 8 << 10

var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{[a-z_]+\}\}`) })

func checkPlaceholders(arg string) error {
	for _, p := range placeholder().FindAllString(arg, -1) {
		switch p {
		case "{{prompt}}", "{{prompt_file}}", "{{session}}", "{{agent_session}}", "{{attempt}}", openBraces:
		default:
			return &UsageError{p + " is no placeholder; there are {{prompt}}, {{prompt_file}}, {{session}}, {{agent_session}} and {{attempt}}"}
		}
	}
	return nil
}

// openBraces stands for the two braces themselves.
const openBraces = "{{open}}"

// Literal is an argv element that reaches the agent as text, whatever is in it.
func Literal(text string) string { return strings.ReplaceAll(text, "{{", openBraces) }

// values are what the placeholders of one run stand for.
type values struct {
	prompt, promptFile, session, agentSession string

	attempt int
}

// expand puts the values into argv: one pass an element, never split again, never expanded again, no shell.
func expand(argv []string, v values) []string {
	r := strings.NewReplacer("{{prompt}}", v.prompt, "{{prompt_file}}", v.promptFile,
		"{{session}}", v.session, "{{agent_session}}", v.agentSession, "{{attempt}}", strconv.Itoa(v.attempt), openBraces, "{{")
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = r.Replace(arg)
	}
	return out
}

// promptRoute tells how argv takes the prompt: by a placeholder of its own, else by stdin.
func promptRoute(argv []string) (byFile, byStdin bool) {
	all := strings.Join(argv, "\x00")
	byFile = strings.Contains(all, "{{prompt_file}}")
	return byFile, !byFile && !strings.Contains(all, "{{prompt}}")
}

// argv is the command line of a turn's next run, and whether it resumes: a continuation does where the agent can.
func (a Agent) argv(t *fsstate.Turn) (argv []string, resumes bool) {
	if t.Attempts == 0 && !t.Fresh && len(a.First) > 0 {
		return a.First, false
	}
	if t.Attempts == 0 || t.Fresh || len(a.Resume) == 0 || t.AgentSession == "" && needsSession(a.Resume) {
		return a.Command, false
	}
	return a.Resume, true
}

// hasPrompt tells whether an argv is one that has the prompt in words of its own.
func (a Agent) hasPrompt(argv []string) bool { return len(a.First) > 0 && &argv[0] == &a.First[0] }

func needsSession(argv []string) bool {
	return slices.ContainsFunc(argv, func(arg string) bool { return strings.Contains(arg, "{{agent_session}}") })
}

// State is how a call of `turn run` ended, from the caller's side.
type State string

// The closed set of states; --outcome FILE and the JSON of `turn run` carry these words.
const (
	Concluded     State = "concluded"      // the agent ended its turn; Code is its own
	Interrupted   State = "interrupted"    // someone asked for the end
	GaveUp        State = "gave-up"        // moved to ended/
	LeftOpen      State = "left-open"      // not continued now; the marker stays
	WaitRanOut    State = "wait-ran-out"   // someone lived for as long as the caller wanted to wait
	Refused       State = "refused"        // someone lives; nothing was written
	ReceiptFailed State = "receipt-failed" // the turn concluded, its receipt did not: only the receipt repeats
)

// stateOf is the state that a recorded end stands for.
func stateOf(e fsstate.End) State {
	switch policy.Reason(e.Reason) {
	case policy.ReasonInterrupted, policy.ReasonStopRequested, policy.ReasonInterruptSignal:
		return Interrupted
	default:
		return Concluded
	}
}

// Outcome is what a call of `turn run` has to say.
type Outcome struct {
	State     State
	Reason    policy.Reason
	Detail    string // for people: who lives, where the old turn went
	Session   string
	Code      int // the agent's exit code, 128+n for signal n
	Signal    int
	Attempts  int
	Instance  string
	StartedAt time.Time
	EndedAt   time.Time
	Replayed  bool // the request had ended before: nothing ran
}

// errTaken means that the marker is no longer this keeper's: cleared by force, or replaced.
var errTaken = errors.New("the turn was taken from this keeper")
