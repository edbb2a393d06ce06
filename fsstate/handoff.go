package fsstate

import (
	"fmt"
	"io/fs"
	"sync"
	"time"

	"hermes-supervisor/fsstate/ident"
)

// HandoffVersion is the "version" of the documents in handoffs/ and handed/.
const HandoffVersion = 1

// Handoff is one document of handoffs/ (open) or handed/ (ended): a session that is to go on at another platform, and who
// delivers it. Unknown fields of a file survive a rewrite. Times are RFC 3339 in UTC.
type Handoff struct {
	ID          string      `json:"id"` // also the file's name; stays over retries
	Session     string      `json:"session"`
	Platform    string      `json:"platform"`
	Note        string      `json:"note,omitempty"`
	Data        string      `json:"data,omitempty"`
	RequestKey  string      `json:"key,omitempty"` // --key
	AfterTurn   bool        `json:"after_turn,omitempty"`
	State       string      `json:"state"` // policy/queue's words
	RequestedAt time.Time   `json:"requested_at"`
	Tries       int         `json:"tries"` // claims so far, this one included
	Retries     int         `json:"retries,omitempty"`
	Claim       *Claim      `json:"claim,omitempty"` // of the last one; nil before the first
	CancelAsked time.Time   `json:"cancel_asked_at,omitzero"`
	End         *HandoffEnd `json:"end,omitempty"` // of the last try

	// What is known about the file rather than written in it.
	Verified bool      `json:"-"` // the HMAC held when it was read; only such a one is sealed again
	LastSeen time.Time `json:"-"` // the file's mtime: the last heartbeat or change

	reopened bool // it is open again after an end, which handed/ may still have after a power loss
	unknown  Document
}

// Claim is who delivers a handoff.
type Claim struct {
	// Claimer is the process whose death ends the delivery. Its Instance is the claim's own name, which whoever completes
	// or fails the handoff has to give, and marks the handler and all that this one starts.
	Claimer ident.Ident `json:"claimer"`
	Handler ident.Ident `json:"handler,omitzero"` // the platform's command, once its pid is recorded
	// External: a program of its own claimed it (`handoff claim`); nothing of its delivery carries the claim's name, and
	// it has no witness.
	External bool `json:"external,omitempty"`
	// Turn is the session whose turn the delivery is; "": it is a command. How it was delivered is not asked of a
	// configuration that may have changed.
	Turn string    `json:"turn,omitempty"`
	By   string    `json:"by,omitempty"` // "run": its keeper was started by a dispatcher, whose ordered stop ends it
	At   time.Time `json:"at"`
}

// HandoffEnd is how a try ended.
type HandoffEnd struct {
	Reason string    `json:"reason"`          // one of policy/queue's
	Error  string    `json:"error,omitempty"` // of a failure, for people
	Code   *int      `json:"code,omitempty"`  // of the platform's command, where it ended by itself
	At     time.Time `json:"at"`
}

var handoffKeys = sync.OnceValue(fieldNames[Handoff])

func (hf HandoffFiles) read(folder Folder, id string) (*Handoff, error) {
	data, info, err := hf.Store.Read(folder, id+".json")
	if err != nil {
		return nil, err
	}
	h, err := hf.decode(hf.Store.Path(folder, id+".json"), data)
	if err != nil {
		return nil, err
	}
	if h.ID != id {
		return nil, &CorruptError{Path: hf.Store.Path(folder, id+".json"), Problem: fmt.Sprintf("is about handoff %.64q", h.ID)}
	}
	h.LastSeen = info.ModTime
	h.reopened = folder == Handoffs && h.End != nil
	return h, nil
}

// decode is read without the file, which its errors name by path.
func (hf HandoffFiles) decode(path string, data []byte) (*Handoff, error) {
	doc, err := decodeAt(path, data, HandoffVersion)
	if err != nil {
		return nil, err
	}
	h := &Handoff{}
	if h.unknown, err = doc.into(h, handoffKeys()); err != nil {
		return nil, &CorruptError{Path: path, Problem: "cannot be decoded: " + err.Error()}
	}
	if h.Session == "" || h.Platform == "" || !OfSession(h.Session)(h.ID) {
		return nil, &CorruptError{Path: path, Problem: "names no session and platform, or not those of its id"}
	}
	h.Verified = doc.Verify(hf.Key, hf.context())
	return h, nil
}

func (hf HandoffFiles) write(folder Folder, h *Handoff) error {
	path := hf.Store.Path(folder, h.ID+".json")
	if !HandoffID(h.ID) {
		return &fs.PathError{Op: "write", Path: path, Err: fs.ErrInvalid}
	}
	data, err := hf.encode(h)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return hf.Store.Write(folder, h.ID+".json", data)
}

func (hf HandoffFiles) encode(h *Handoff) ([]byte, error) {
	doc, err := documentOf(h, HandoffVersion, h.unknown)
	if err != nil {
		return nil, err
	}
	if h.Verified && len(hf.Key) > 0 {
		doc.Seal(hf.Key, hf.context())
	}
	return doc.Encode()
}

func (hf HandoffFiles) context() string { return "handoff\x00" + hf.Store.Home().Path }
