package fsstate

import "io/fs"

// TryLease takes what one process of a home does at a time, for as long as that process wants or lives: locks/NAME.lock.
// false and no error: another one has it. The lease is no lock of a stripe, and may not have the name of one: nobody waits
// for it, and it may be held for months.
func (s *Store) TryLease(name string) (release func(), held bool, err error) {
	if s.readOnly || !PlainName(name) || len(name) == len("ff") {
		return nil, false, &fs.PathError{Op: "lease", Path: s.Path(Locks, name), Err: fs.ErrInvalid}
	}
	l, err := s.tryFile(string(Locks) + "/" + name + ".lock")
	if l == nil || err != nil {
		return nil, false, err
	}
	return func() { _ = l.Unlock() }, true, nil
}
