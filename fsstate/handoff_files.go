package fsstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"hermes-supervisor/fsstate/fault"
)

// HandoffFiles reads and writes the handoffs of one store. It takes no lock but by Lock: whoever changes a handoff holds
// that, from the read to the write.
//
// A handoff lies in one of two folders. What lies in handed/ has ended, whatever else a power loss has left in handoffs/:
// an end is durable there before the open record goes, and a retried one's end goes after its open record is durable.
type HandoffFiles struct {
	Store *Store
	Key   []byte
}

// Open are the ids in handoffs/, the oldest request first. Some may have ended: Get tells.
func (hf HandoffFiles) Open() ([]string, error) { return hf.ids(Handoffs) }

// Ended are the ids in handed/, the oldest request first.
func (hf HandoffFiles) Ended() ([]string, error) { return hf.ids(Handed) }

func (hf HandoffFiles) ids(folder Folder) (ids []string, err error) {
	err = hf.eachID(folder, func(id []byte) { ids = append(ids, string(id)) })
	slices.Sort(ids)
	return ids, err
}

func (hf HandoffFiles) eachID(folder Folder, visit func(id []byte)) error {
	err := hf.Store.disk.Each(string(folder), func(name []byte) {
		if id, is := bytes.CutSuffix(name, []byte(".json")); is && isID(id) {
			visit(id)
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Oldest are the ids in handoffs/ that may be meant, after one of them ("": from the first on), the oldest request first
// and at most n: of ten thousand that wait, whoever wants the oldest reads no more than their names.
func (hf HandoffFiles) Oldest(after string, n int, may func(id string) bool) ([]string, error) {
	oldest := make([]string, 0, n+1)
	err := hf.eachID(Handoffs, func(id []byte) {
		if string(id) <= after || len(oldest) == n && string(id) >= oldest[n-1] {
			return
		}
		one := string(id)
		if !may(one) {
			return
		}
		at, _ := slices.BinarySearch(oldest, one)
		oldest = slices.Insert(oldest, at, one)
		oldest = oldest[:min(len(oldest), n)]
	})
	return oldest, err
}

// Stamped is an id in handoffs/ and when its file was last changed or given a heartbeat.
type Stamped struct {
	ID string
	At time.Time
}

// Stamps are those of Open, which one look at the folder gives.
func (hf HandoffFiles) Stamps() ([]Stamped, error) {
	entries, err := hf.Store.disk.ReadDir(string(Handoffs))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	stamps := make([]Stamped, 0, len(entries))
	for _, e := range entries {
		id, is := strings.CutSuffix(e.Name(), ".json")
		if !is || !HandoffID(id) {
			continue
		}
		if info, err := e.Info(); err == nil { // else it has gone meanwhile
			stamps = append(stamps, Stamped{id, info.ModTime()})
		}
	}
	slices.SortFunc(stamps, func(a, b Stamped) int { return strings.Compare(a.ID, b.ID) })
	return stamps, err
}

// Get reads a handoff as it stands. The error wraps fs.ErrNotExist where there is none, and is a *CorruptError,
// *VersionError or *UnsafeError for a file that cannot be used.
func (hf HandoffFiles) Get(id string) (*Handoff, error) {
	if !HandoffID(id) {
		return nil, &fs.PathError{Op: "read", Path: hf.Store.Path(Handoffs, id), Err: fs.ErrNotExist}
	}
	for range 2 { // what moves between the two looks is found at the second try
		for _, folder := range []Folder{Handed, Handoffs} {
			h, err := hf.read(folder, id)
			if !errors.Is(err, fs.ErrNotExist) {
				return h, err
			}
		}
	}
	return nil, &fs.PathError{Op: "read", Path: hf.Store.Path(Handoffs, id+".json"), Err: fs.ErrNotExist}
}

// All reads many handoffs as they stand, in the order of their ids. What cannot be read is in the second result, one error
// a file, and never hides the others.
func (hf HandoffFiles) All(ids []string) ([]*Handoff, []error) { return readAll(ids, hf.Get) }

// Put writes an open handoff durably: when it returns nil, it outlives a power loss. Of one that was reopened the end must
// be gone for good first: whoever reopened it may have been killed before it was.
func (hf HandoffFiles) Put(h *Handoff) error {
	if h.reopened {
		if err := hf.Store.Confirm(Handed); err != nil {
			return err
		}
	}
	return hf.write(Handoffs, h)
}

// Confirm makes durable what Get sees, for an answer that is given without a write: that it was done before. Whoever did
// it may have been killed, or told of an error, before it was durable. The end comes first: it is what hides an open
// record, or has hidden it.
func (hf HandoffFiles) Confirm() error {
	if err := hf.Store.Confirm(Handed); err != nil {
		return err
	}
	return hf.Store.Confirm(Handoffs)
}

// Settle writes the end of a handoff durably; from then on it has ended. That its open record goes need not be durable.
func (hf HandoffFiles) Settle(h *Handoff) error {
	if err := hf.write(Handed, h); err != nil {
		return err
	}
	fault.At("handoff.ended")
	_ = hf.Store.Discard(Handoffs, h.ID+".json") // whoever finds it there tidies
	return nil
}

// Tidy removes what is left of the open record of a handoff that has ended: of whoever wrote the end, and was killed
// before it had done so or even before the end was durable. Where there is no end it removes nothing. Whoever calls it
// holds the handoff's lock, or one that is reopened meanwhile would be gone.
func (hf HandoffFiles) Tidy(id string) error {
	if _, err := hf.Store.Stat(Handed, id+".json"); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := hf.Store.Confirm(Handed); err != nil {
		return err
	}
	return hf.Store.Discard(Handoffs, id+".json")
}

// Reopen makes an ended handoff an open one again, durably: nothing has changed for anybody before its end is gone.
func (hf HandoffFiles) Reopen(h *Handoff) error {
	if err := hf.Put(h); err != nil {
		return err
	}
	fault.At("handoff.reopen")
	return hf.Store.Remove(Handed, h.ID+".json")
}

// Drop removes a handoff that has ended for good: first what a power loss may have brought back of its open record.
func (hf HandoffFiles) Drop(id string) error {
	if err := hf.Store.Remove(Handoffs, id+".json"); err != nil {
		return err
	}
	return hf.Store.Remove(Handed, id+".json")
}

// EndedAt is when a handoff in handed/ was written.
func (hf HandoffFiles) EndedAt(id string) (time.Time, error) {
	info, err := hf.Store.Stat(Handed, id+".json")
	return info.ModTime, err
}

// Stamp is when an open handoff was last changed or given a heartbeat.
func (hf HandoffFiles) Stamp(id string) (time.Time, error) {
	info, err := hf.Store.Stat(Handoffs, id+".json")
	return info.ModTime, err
}

// Heartbeat says "is being delivered" through the file's mtime, never its content.
func (hf HandoffFiles) Heartbeat(id string, now time.Time) error {
	return hf.Store.Touch(Handoffs, id+".json", now)
}

// Claims are the names of the claims of all open handoffs: whose files in run/ somebody may need. The error is about a
// record that cannot be read.
func (hf HandoffFiles) Claims() ([]string, error) {
	ids, err := hf.Open()
	if err != nil {
		return nil, err
	}
	var claims []string
	for _, id := range ids {
		h, err := hf.Get(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if h.Claim != nil {
			claims = append(claims, h.Claim.Claimer.Instance)
		}
	}
	return claims, nil
}

// Fits tells whether a new handoff leaves Room for what later writes add; the error wraps ErrTooLarge.
func (hf HandoffFiles) Fits(h *Handoff) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if most := MaxRecord - Room; len(data) > most {
		return fmt.Errorf("handoff of session %.40q: %d bytes of at most %d: %w", h.Session, len(data), most, ErrTooLarge)
	}
	return nil
}

// SetAside moves a file of handoffs/ or handed/ that cannot be used out of the way, and gives its new name.
func (hf HandoffFiles) SetAside(folder Folder, id string, now time.Time) (string, error) {
	return hf.Store.Quarantine(folder, id+".json", now)
}
