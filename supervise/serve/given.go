package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"hermes-supervisor/fsstate"
)

// How far a turn has come in one launch of the backend, before its end.
const (
	asking Status = "asking" // prompt.submit is about to be sent, and may have been
	begun  Status = "begun"  // the backend is at it
)

// given keeps on disk what one launch of the backend was given of one turn: whoever asks that launch for the same turn
// again, after a death of its own, must not prompt a second time. It is sealed, since it can keep a turn from going on.
type given struct {
	files fsstate.ServiceFiles
	file  string // in run/, by the launch's instance, with which it goes
}

// givenOf is that of a turn; it keeps nothing where no launch or no turn is named.
func givenOf(b Backend, t Turn) given {
	if b.files.Store == nil || t.ID == "" {
		return given{}
	}
	sum := sha256.Sum256([]byte(t.Profile + "\x00" + t.Session + "\x00" + t.ID))
	return given{files: b.files, file: b.instance + ".turn-" + hex.EncodeToString(sum[:16])}
}

func (g given) context() string { return "serve\x00" + g.files.Store.Home().Path + "\x00" + g.file }

// read is what was kept; "" where that is nothing, or nothing that verifies.
func (g given) read() Status {
	if g.file == "" {
		return ""
	}
	text, _, err := g.files.Store.Read(fsstate.Run, g.file)
	if err != nil {
		return ""
	}
	var d fsstate.Document
	var s Status
	if json.Unmarshal(text, &d) != nil || len(g.files.Key) > 0 && !d.Verify(g.files.Key, g.context()) || json.Unmarshal(d["status"], &s) != nil {
		return ""
	}
	return s
}

// write keeps it; "" forgets it.
func (g given) write(s Status) error {
	switch {
	case g.file == "":
		return nil
	case s == "":
		return g.files.Store.Discard(fsstate.Run, g.file)
	}
	status, err := json.Marshal(s)
	if err != nil {
		return err
	}
	d := fsstate.Document{"version": json.RawMessage("1"), "status": status}
	d.Seal(g.files.Key, g.context())
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return g.files.Store.Write(fsstate.Run, g.file, text)
}
