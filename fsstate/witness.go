package fsstate

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"hermes-supervisor/fsstate/fault"
	"hermes-supervisor/fsstate/ident"
)

// instanceName says whether a name can be that of an instance: 32 hex digits.
func instanceName(name string) bool {
	return len(name) == 32 && strings.Trim(name, "0123456789abcdef") == ""
}

// NewWitness makes run/<instance>.in with the content that the instance reads from its stdin. The file appears under
// its name durable and already locked, so that whoever sees it free knows that its holders are gone. What comes back is
// open for reading at offset 0, close-on-exec, and holds the lock for as long as it or a descriptor that a child
// inherited from it is open. The error wraps fs.ErrExist when the name is taken.
func (s *Store) NewWitness(instance string, content []byte) (*os.File, error) {
	file := instance + ".in"
	name, err := s.change("witness", Run, file)
	if err != nil {
		return nil, err
	}
	if !instanceName(instance) {
		return nil, &fs.PathError{Op: "witness", Path: s.Path(Run, file), Err: fs.ErrInvalid}
	}
	if err := s.vacant("witness", name); err != nil {
		return nil, err
	}
	tmp := string(Tmp) + "/" + randomName()
	f, err := s.lockedFile(tmp, content)
	if err == nil {
		fault.At("witness.rename")
		err = s.disk.Rename(tmp, name)
		if err == nil {
			if err = s.disk.SyncDir(string(Run)); err == nil {
				fault.At("witness.durable")
				return f, nil
			}
			_ = s.disk.Remove(name)
		}
		_ = f.Close()
	}
	_ = s.disk.Remove(tmp)
	return nil, fmt.Errorf("witness %s: %w", s.Path(Run, file), err)
}

// SpareWitness makes the witness of a launch to come, durable and held by nobody, so that the launch has nothing to wait
// for: TakeWitness. Until somebody names the instance, nobody concludes anything from it.
func (s *Store) SpareWitness(instance string) error {
	f, err := s.NewWitness(instance, nil)
	if err != nil {
		return err
	}
	return f.Close()
}

// TakeWitness opens and locks what SpareWitness made; what comes back is as from NewWitness. The error wraps
// fs.ErrNotExist when it is gone and ident.ErrWitnessHeld when somebody has taken it.
func (s *Store) TakeWitness(instance string) (*os.File, error) {
	name, err := s.change("witness", Run, instance+".in")
	if err != nil {
		return nil, err
	}
	f, err := s.openBlocking(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if err := ident.LockWitness(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// lockedFile makes a file with its content durable and gives it opened anew: read-only, so that an agent cannot change
// what it was asked, and locked.
func (s *Store) lockedFile(name string, content []byte) (*os.File, error) {
	w, err := s.disk.Open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := fill(s.disk, w, content); err != nil {
		return nil, err
	}
	f, err := s.openBlocking(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if err := ident.LockWitness(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// NewOutput makes a new file in run/ for an instance's output: open for reading and, always at its end, writing. The
// error wraps fs.ErrExist when the name is taken. Neither name nor content is made durable.
func (s *Store) NewOutput(file string) (*os.File, error) {
	name, err := s.change("output", Run, file)
	if err != nil {
		return nil, err
	}
	return s.disk.Open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
}

// OpenRun opens a file in run/ for reading, with the safety of Read but no bound on its size.
func (s *Store) OpenRun(file string) (*os.File, error) {
	name, err := in("open", Run, file)
	if err != nil {
		return nil, err
	}
	return s.openBlocking(name, os.O_RDONLY)
}

// OpenOutput opens a file of NewOutput a second time, for whoever follows it: for reading, and for writing so that what
// has been followed can be freed. It is another open file, so it does not share the first one's lock.
func (s *Store) OpenOutput(file string) (*os.File, error) {
	name, err := s.change("open", Run, file)
	if err != nil {
		return nil, err
	}
	return s.openBlocking(name, os.O_RDWR)
}

// openBlocking is openSafe for a file that a child may inherit.
func (s *Store) openBlocking(name string, flag int) (*os.File, error) {
	f, _, err := openSafe(s.disk, s.Path("", name), name, flag)
	if err != nil {
		return nil, err
	}
	if err := blocking(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
