package fsstate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"
)

// OutcomeVersion is the "version" of the documents in outcomes/.
const OutcomeVersion = 1

// Outcome is the recorded end of a request that had an id (`turn run --id`), or of one of Hermes's own turns. It
// outlives the marker, so that the same request never runs again.
type Outcome struct {
	Session      string    `json:"session"`
	ID           string    `json:"id"`
	PromptSHA256 string    `json:"prompt_sha256"`
	End          End       `json:"end"`
	Attempts     int       `json:"attempts"`
	StartedAt    time.Time `json:"started_at"`
	Verified     bool      `json:"-"`                  // the HMAC holds
	Instance     string    `json:"instance,omitempty"` // run/<instance>.out and .err hold the output where it was kept
}

var outcomeKeys = sync.OnceValue(fieldNames[Outcome])

// PromptSum is how an outcome remembers a prompt without holding it.
func PromptSum(prompt string) string {
	sum := sha256.Sum256([]byte(prompt))
	return hex.EncodeToString(sum[:])
}

// HermesID is the request id of the turn that an entry of Hermes's own marker file stands for.
func HermesID(startedAt float64) string { return fmt.Sprintf("hermes:%.6f", startedAt) }

// outcomeFile names the outcome of one request of one session. A session key may hold any byte, so the two are joined
// by a length, not by a separator.
func outcomeFile(session, id string) string {
	return Name(fmt.Sprintf("%d:%s:%s", len(session), session, id)) + ".json"
}

// Outcome reads the recorded end of a request; nil without an error when there is none.
func (ts TurnFiles) Outcome(session, id string) (*Outcome, error) {
	file := outcomeFile(session, id)
	o, err := ts.readOutcome(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if o.Session != session || o.ID != id {
		return nil, &CorruptError{Path: ts.Store.Path(Outcomes, file), Problem: "is about another request"}
	}
	return o, nil
}

// OutcomePath is where the recorded end of a request lies.
func (ts TurnFiles) OutcomePath(session, id string) string {
	return ts.Store.Path(Outcomes, outcomeFile(session, id))
}

// OutcomeInstances are the instances whose output a recorded end still names. An outcome that cannot be read is an
// error, since it may name any of them.
func (ts TurnFiles) OutcomeInstances() ([]string, error) {
	names, err := ts.Store.List(Outcomes)
	if err != nil {
		return nil, err
	}
	instances := make([]string, 0, len(names))
	for _, name := range names {
		o, err := ts.readOutcome(name)
		if err != nil {
			return nil, err
		}
		instances = append(instances, o.Instance)
	}
	return instances, nil
}

func (ts TurnFiles) readOutcome(file string) (*Outcome, error) {
	data, _, err := ts.Store.Read(Outcomes, file)
	if err != nil {
		return nil, err
	}
	path := ts.Store.Path(Outcomes, file)
	doc, err := decodeAt(path, data, OutcomeVersion)
	if err != nil {
		return nil, err
	}
	o := &Outcome{}
	if _, err := doc.into(o, outcomeKeys()); err != nil {
		return nil, &CorruptError{Path: path, Problem: "cannot be decoded: " + err.Error()}
	}
	o.Verified = doc.Verify(ts.Key, ts.outcomeContext())
	return o, nil
}

// outcomeContext ties an outcome to its home, and keeps a turn's seal from passing for an outcome's.
func (ts TurnFiles) outcomeContext() string { return "outcome\x00" + ts.Store.Home().Path }

// PutOutcome writes the recorded end of a request durably, sealed.
func (ts TurnFiles) PutOutcome(o *Outcome) error {
	doc, err := documentOf(o, OutcomeVersion, nil)
	if err != nil {
		return err
	}
	if len(ts.Key) > 0 {
		doc.Seal(ts.Key, ts.outcomeContext())
	}
	data, err := doc.Encode()
	if err != nil {
		return err
	}
	return ts.Store.Write(Outcomes, outcomeFile(o.Session, o.ID), data)
}
