package turn

import (
	"errors"
	"strings"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

// sessionSuffix names the file in run/ that says which session an instance works for. It need not be durable: after a
// reboot nothing of it lives.
const sessionSuffix = ".session"

// nameSession writes that file for a launch.
func (j *job) nameSession(instance string) error {
	f, err := j.Room.Store.NewOutput(instance + sessionSuffix)
	if err != nil {
		return err
	}
	_, err = f.WriteString(j.Request.Session)
	return errors.Join(err, f.Close())
}

// stray finds an instance that works for a session although no marker that can be trusted says so: the marker was lost,
// broken or written over while its keeper was dead. It must end before the session is anyone else's.
func (s *scene) stray(session string) (ident.Finding, bool) {
	names, err := s.room.Store.List(fsstate.Run)
	if err != nil {
		return ident.Finding{Why: err.Error()}, true
	}
	for _, name := range names {
		instance, is := strings.CutSuffix(name, sessionSuffix)
		if !is {
			continue
		}
		data, _, err := s.room.Store.Read(fsstate.Run, name)
		if err != nil || string(data) != session {
			continue
		}
		found := ident.Judge(ident.Evidence{
			ID:      ident.Ident{BootID: s.here.BootID, PIDNS: s.here.PIDNS, Instance: instance},
			Witness: s.witness(instance), Trusted: s.room.Store.Trusted(), Tagged: s.tagged,
		})
		if found.Verdict == ident.Alive {
			found.Why += ", and no record that can be trusted names it"
			return found, true
		}
	}
	return ident.Finding{}, false
}
