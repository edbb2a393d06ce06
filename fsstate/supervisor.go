package fsstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"hermes-supervisor/fsstate/ident"
)

// SupervisorFile names the `run` of a home, in supervisor/ itself. It is not sealed and authorizes nothing: a probe finds
// by it which process to look at. That one's heartbeat is the time of its witness.
const SupervisorFile = "supervisor.json"

const supervisorVersion = 1

// Supervisor is that document.
type Supervisor struct {
	Supervisor ident.Ident `json:"supervisor"`
	StartedAt  time.Time   `json:"started_at"`

	Beat time.Time `json:"-"` // the last heartbeat; zero where the witness is gone
}

// PutSupervisor names the `run` of this home.
func (s *Store) PutSupervisor(r Supervisor) error {
	doc, err := documentOf(r, supervisorVersion, nil)
	if err != nil {
		return err
	}
	data, err := doc.Encode()
	if err != nil {
		return err
	}
	return s.Write("", SupervisorFile, data)
}

// Supervisor reads which `run` was the last to name itself. The error wraps fs.ErrNotExist where none has, or the last
// one was stopped in order.
func (s *Store) Supervisor() (Supervisor, error) {
	data, _, err := s.Read("", SupervisorFile)
	if err != nil {
		return Supervisor{}, err
	}
	path := s.Path("", SupervisorFile)
	doc, err := decodeAt(path, data, supervisorVersion)
	if err != nil {
		return Supervisor{}, err
	}
	var r Supervisor
	for key, into := range map[string]any{"supervisor": &r.Supervisor, "started_at": &r.StartedAt} {
		if err := json.Unmarshal(doc[key], into); err != nil {
			return r, &CorruptError{Path: path, Problem: fmt.Sprintf("%s cannot be decoded: %v", key, err)}
		}
	}
	if !instanceName(r.Supervisor.Instance) {
		return r, &CorruptError{Path: path, Problem: "names no instance"}
	}
	if info, err := s.Stat(Run, r.Supervisor.Instance+".in"); err == nil {
		r.Beat = info.ModTime
	}
	return r, nil
}

// Beat says that an instance's holder turned its loop now, through the time of its witness, never its content.
func (s *Store) Beat(instance string, now time.Time) error { return s.Touch(Run, instance+".in", now) }

// DropSupervisor takes the name of an instance off; that of another stays.
func (s *Store) DropSupervisor(instance string) error {
	r, err := s.Supervisor()
	if errors.Is(err, fs.ErrNotExist) || err == nil && r.Supervisor.Instance != instance {
		return nil
	}
	return s.Remove("", SupervisorFile)
}
