package fsstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync"
	"time"

	"hermes-supervisor/fsstate/fault"
	"hermes-supervisor/fsstate/ident"
)

// TurnVersion is the "version" of the documents in turns/ and ended/.
const TurnVersion = 1

// Phases of an open turn's marker, in the order in which a turn passes through them. What they mean is DESIGN.md's
// "One turn"; here they are only the words that the file may hold.
const (
	PhaseIntended  = "intended"  // durable before the fork: work may be running from now on
	PhaseRunning   = "running"   // the owner's pid and start are known
	PhaseStopping  = "stopping"  // someone asked for the end; never continued, still occupies the session
	PhaseConcluded = "concluded" // the end is on disk; only the receipt and the removal are left
)

// Turn is one document of turns/ or ended/: a prompt, who works on it, and how far it got. Unknown fields of a file
// survive a rewrite. Times are RFC 3339 in UTC.
type Turn struct {
	Session      string      `json:"session"`
	Phase        string      `json:"phase"`
	Prompt       string      `json:"prompt"`
	Source       string      `json:"source,omitempty"`
	Agent        string      `json:"agent,omitempty"`         // name in hermes.toml or of a preset; "" = a command line of its own
	Kind         string      `json:"kind,omitempty"`          // the agent that a command line of its own is known to run
	RequestID    string      `json:"request_id,omitempty"`    // --id
	AgentSession string      `json:"agent_session,omitempty"` // the agent's own id of this session, once bound
	Fresh        bool        `json:"fresh,omitempty"`         // this run was started without resuming that session: the agent did not know it
	Aliases      []string    `json:"aliases,omitempty"`       // later keys of the same session (a rotated key)
	Cwd          string      `json:"cwd,omitempty"`
	Call         string      `json:"call,omitempty"` // SHA-256 of a command line of its own, in hex: only the same one is this turn
	AutoContinue bool        `json:"auto_continue"`
	Attempts     int         `json:"attempts"`
	StartedAt    time.Time   `json:"started_at"`            // the person's prompt was admitted
	LaunchedAt   time.Time   `json:"launched_at,omitzero"`  // this run
	RetryAt      time.Time   `json:"retry_at,omitzero"`     // not before
	Stall        string      `json:"stall,omitempty"`       // --stall, which a continuation keeps: "10m0s"; "" = none
	StalledAt    time.Time   `json:"stalled_at,omitzero"`   // its keeper saw no sign of life for so long, and is ending this run
	Deferrals    int         `json:"deferrals,omitempty"`   // waits for a provider's limit, charged to no attempt
	Keeper       ident.Ident `json:"keeper,omitzero"`       // zero: a reported turn
	Owner        ident.Ident `json:"owner"`                 // pid 0: launched, pid not recorded yet
	Unattended   bool        `json:"unattended,omitempty"`  // a reported turn that may be continued without a person
	Drained      bool        `json:"drained,omitempty"`     // ended by a shutdown: its age starts again at the next boot
	AgentEnded   bool        `json:"agent_ended,omitempty"` // after its keeper's death the agent told, by its hook, that it has done its work
	Unobserved   bool        `json:"unobserved,omitempty"`  // an earlier run ended without a witness: it may be complete
	StopAskedAt  time.Time   `json:"stop_asked_at,omitzero"`
	Crash        *End        `json:"crash,omitempty"` // the last run's death, where its keeper saw it
	End          *End        `json:"end,omitempty"`
	Receipt      *Receipt    `json:"receipt,omitempty"`
	Origin       *Origin     `json:"origin,omitempty"`
	ContinuedBy  string      `json:"continued_by,omitempty"` // "run": its keeper was started by the supervisor, whose ordered stop ends it
	Ended        *Retirement `json:"ended,omitempty"`        // only in ended/

	// What is known about the file rather than written in it.
	Verified bool      `json:"-"` // the HMAC held when it was read; only such a turn is sealed again, so that no rewrite vouches for a forged one
	LastSeen time.Time `json:"-"` // the file's mtime: the last heartbeat or change
	File     string    `json:"-"` // the name within its folder

	unknown Document
}

// End is how a concluded turn ended.
type End struct {
	Code   int       `json:"code"`             // what `turn run` returns: the agent's code, 128+n for signal n
	Signal int       `json:"signal,omitempty"` // the signal that ended the agent, 0 = none
	Reason string    `json:"reason"`           // one of policy's reasons
	At     time.Time `json:"at"`
}

// Receipt says that a receipt command must succeed before the marker may go. The command itself is never written here:
// a state file names no command.
type Receipt struct {
	Pending  bool   `json:"pending"`
	Instance string `json:"instance,omitempty"` // the running or last receipt; its witness tells whether it lives
	Failures int    `json:"failures,omitempty"`
}

// Origin ties a turn of ours to the entry of Hermes's own file that it continues.
type Origin struct {
	Store     string  `json:"store"`      // "hermes"
	StartedAt float64 `json:"started_at"` // the entry's own stamp, which with the session names it
}

// Retirement is why and when a turn went to ended/.
type Retirement struct {
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// Reported tells a turn that its agent reports itself from one that a keeper runs.
func (t *Turn) Reported() bool { return t.Keeper.Instance == "" }

// StallLimit is the time that Stall names, 0 where it names none: it bounds a run, and what cannot be read bounds nothing.
func (t *Turn) StallLimit() time.Duration {
	d, err := time.ParseDuration(t.Stall)
	if err != nil {
		return 0
	}
	return max(d, 0)
}

// TurnFiles reads and writes the turn documents of one store. It takes no lock: the caller holds the session's stripe
// around a read and the write that depends on it.
type TurnFiles struct {
	Store *Store
	Key   []byte // HMAC key; empty: what is written cannot be verified by anyone
}

// turnKeys are the fields that this version knows; the rest of a file is carried along.
var turnKeys = sync.OnceValue(fieldNames[Turn])

// Get reads the open turn of a session. The error wraps fs.ErrNotExist where there is none, and is a *CorruptError,
// *VersionError or *UnsafeError for a file that cannot be used.
func (ts TurnFiles) Get(session string) (*Turn, error) {
	return ts.read(Turns, Name(session)+".json")
}

// Put writes the open turn durably: when it returns nil, the turn outlives a power loss.
func (ts TurnFiles) Put(t *Turn) error {
	return ts.write(Turns, Name(t.Session)+".json", t)
}

// Room is what a record must leave free when it is first written: for the end, the crash, the keys and whatever else
// later writes add. A record that grew beyond MaxRecord in the middle of a turn could not tell its end any more.
const Room = 64 << 10

// Fits tells whether a new turn leaves that room; the error wraps ErrTooLarge.
func (ts TurnFiles) Fits(t *Turn) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if most := MaxRecord - Room; len(data) > most {
		return fmt.Errorf("record of session %.40q: %d bytes of at most %d: %w", t.Session, len(data), most, ErrTooLarge)
	}
	return nil
}

// Delete removes the open turn of a session durably. No file is no error.
func (ts TurnFiles) Delete(session string) error {
	return ts.Store.Remove(Turns, Name(session)+".json")
}

// Stamp tells whether the document of an open turn has been replaced or touched since another look.
func (ts TurnFiles) Stamp(session string) (Info, error) {
	return ts.Store.Stat(Turns, Name(session)+".json")
}

// Heartbeat says "seen alive now" through the file's mtime, never its content.
func (ts TurnFiles) Heartbeat(session string, now time.Time) error {
	return ts.Store.Touch(Turns, Name(session)+".json", now)
}

// Archive moves an open turn to ended/ with a reason: the copy is durable before the marker goes, and its name follows
// from the session and the turn's own start, so that a crash between the two leaves no second copy behind.
func (ts TurnFiles) Archive(t *Turn, reason string, now time.Time) (string, error) {
	old := *t
	old.Ended = &Retirement{Reason: reason, At: now.UTC()}
	file := endedFile(t)
	if err := ts.write(Ended, file, &old); err != nil {
		return "", err
	}
	fault.At("archive.remove")
	if err := ts.Delete(t.Session); err != nil {
		return file, err
	}
	fault.At("archive.durable")
	return file, nil
}

func endedFile(t *Turn) string {
	return fmt.Sprintf("%s-%s.json", Name(t.Session), t.StartedAt.UTC().Format("20060102T150405.000000000Z"))
}

// Archived tells whether this very turn lies in ended/.
func (ts TurnFiles) Archived(t *Turn) (bool, error) {
	_, err := ts.Store.Stat(Ended, endedFile(t))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Read reads one document of turns/ or ended/ by its file name.
func (ts TurnFiles) Read(folder Folder, file string) (*Turn, error) { return ts.read(folder, file) }

// DropEnded removes one document of ended/.
func (ts TurnFiles) DropEnded(file string) error { return ts.Store.Remove(Ended, file) }

// All reads every document of turns/ or ended/, by file name. What cannot be read is in the second result, one error
// a file, and never hides the others.
func (ts TurnFiles) All(folder Folder) ([]*Turn, []error) {
	names, err := ts.Store.List(folder)
	if err != nil {
		return nil, []error{err}
	}
	return readAll(names, func(name string) (*Turn, error) { return ts.read(folder, name) })
}

func (ts TurnFiles) read(folder Folder, file string) (*Turn, error) {
	data, info, err := ts.Store.Read(folder, file)
	if err != nil {
		return nil, err
	}
	t, err := ts.decode(ts.Store.Path(folder, file), data)
	if err != nil {
		return nil, err
	}
	if folder == Turns && Name(t.Session)+".json" != file { // a copy, or a forged one, must not speak for another
		return nil, &CorruptError{Path: ts.Store.Path(folder, file), Problem: fmt.Sprintf("is about session %.40q, whose record it is not", t.Session)}
	}
	t.LastSeen = info.ModTime
	t.File = file
	return t, nil
}

// decode is read without the file, which its errors name by path.
func (ts TurnFiles) decode(path string, data []byte) (*Turn, error) {
	doc, err := decodeAt(path, data, TurnVersion)
	if err != nil {
		return nil, err
	}
	t := &Turn{}
	rest, err := doc.into(t, turnKeys())
	if err != nil {
		return nil, &CorruptError{Path: path, Problem: "cannot be decoded: " + err.Error()}
	}
	if t.Session == "" {
		return nil, &CorruptError{Path: path, Problem: "names no session"}
	}
	switch t.Phase {
	case PhaseIntended, PhaseRunning, PhaseStopping, PhaseConcluded:
	default:
		return nil, &CorruptError{Path: path, Problem: fmt.Sprintf("phase %q is none that is known", t.Phase)}
	}
	if t.Phase == PhaseConcluded && t.End == nil {
		return nil, &CorruptError{Path: path, Problem: "concluded without an end"}
	}
	t.unknown = rest
	t.Verified = doc.Verify(ts.Key, ts.context())
	return t, nil
}

func (ts TurnFiles) write(folder Folder, file string, t *Turn) error {
	data, err := ts.encode(t)
	if err != nil {
		return fmt.Errorf("encode %s: %w", ts.Store.Path(folder, file), err)
	}
	return ts.Store.Write(folder, file, data)
}

// encode is a turn's document; sealed if it verified when it was read.
func (ts TurnFiles) encode(t *Turn) ([]byte, error) {
	doc, err := documentOf(t, TurnVersion, t.unknown)
	if err != nil {
		return nil, err
	}
	if t.Verified && len(ts.Key) > 0 {
		doc.Seal(ts.Key, ts.context())
	}
	return doc.Encode()
}

// context ties a record to its home: one copied in from another home is not verified there.
func (ts TurnFiles) context() string { return "turn\x00" + ts.Store.Home().Path }

// decodeAt is DecodeDocument for the content of a file, which its errors name.
func decodeAt(path string, data []byte, version int) (Document, error) { //nolint:unparam // each kind of document has its own
	doc, err := DecodeDocument(data, version)
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		return nil, &CorruptError{Path: path, Problem: corrupt.Problem}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return doc, nil
}

// documentOf is v as a document of a version, with the unknown fields of the file that it came from.
func documentOf(v any, version int, unknown Document) (Document, error) { //nolint:unparam // each kind of document has its own
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	doc := Document{}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	for k, raw := range unknown {
		if _, known := doc[k]; !known {
			doc[k] = raw
		}
	}
	doc["version"] = json.RawMessage(strconv.Itoa(version))
	return doc, nil
}
