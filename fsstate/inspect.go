package fsstate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes-supervisor/fsstate/ident"
)

// What follows is for who only looks: a doctor that may change nothing asks the questions that others ask on the way to
// their work.

// FileSystem tells whether the locks of the file system below a path may be relied on, as Open asks it, and its name. The
// path has to be there.
func FileSystem(path string) (trust bool, name string, err error) { return trusted(path) }

// KeyPath is where the key of a configuration folder lies.
func KeyPath(dir string) string { return filepath.Join(dir, keyFile) }

// ReadKey is LoadKey for who makes neither the key nor its folder: the error wraps fs.ErrNotExist where there is none yet.
func ReadKey(dir string) ([]byte, error) {
	d, err := openDisk(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // a directory handle
	info, err := d.Lstat(".")
	if err != nil {
		return nil, err
	}
	if problem := dirProblem(info); problem != "" {
		return nil, &UnsafeError{Op: "open", Path: dir, Problem: problem}
	}
	key, _, err := readKey(d, dir)
	return key, err
}

// refusing are the folders whose entries are read by the rules of Read; "" is supervisor/ itself. Logs and tmp/ have their
// own readers.
var refusing = []Folder{"", Turns, Ended, Outcomes, Handoffs, Handed, Services, Requests, Run, Locks}

// Inspect tells what lies in the store's folders that Read would refuse: an *UnsafeError for each, by name, and at most
// that many for a folder. Nothing is opened but the folders.
func (s *Store) Inspect(most int) []error {
	var bad []error
	for _, folder := range refusing {
		var found []error
		err := s.disk.Each(cmp.Or(string(folder), "."), func(raw []byte) {
			name := string(raw)
			if problem := s.entryProblem(folder, name); problem != "" {
				found = append(found, &UnsafeError{Op: "read", Path: s.Path(folder, name), Problem: problem})
			}
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			found = append(found, err)
		}
		slices.SortFunc(found, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		bad = append(bad, found[:min(most, len(found))]...)
	}
	return bad
}

// entryProblem says why an entry of a folder is not read, "" where it is or is passed over.
func (s *Store) entryProblem(folder Folder, name string) string {
	if name[0] == '.' || strings.Contains(name, corruptMark) {
		return ""
	}
	file, err := in("stat", folder, name)
	if err != nil {
		return "has a name that no file of ours has"
	}
	info, err := s.disk.Lstat(file)
	if err != nil || info.IsDir() {
		return ""
	}
	problem := fileProblem(info)
	if bounded := folder != "" && folder != Run; problem == "" && bounded && info.Size() > MaxRecord {
		problem = fmt.Sprintf("is larger than %d bytes", MaxRecord)
	}
	return problem
}

// Aside lists what Quarantine moved aside, as absolute paths.
func (s *Store) Aside() []string {
	var paths []string
	for _, folder := range refusing {
		_ = s.disk.Each(cmp.Or(string(folder), "."), func(raw []byte) { // a folder that is not there holds nothing
			if name := string(raw); strings.Contains(name, corruptMark) {
				paths = append(paths, s.Path(folder, name))
			}
		})
	}
	slices.Sort(paths)
	return paths
}

// HeldLock is a stripe that somebody has locked.
type HeldLock struct {
	File   string // its name in locks/
	Holder Holder
}

// HeldLocks lists the stripes that are locked at this moment. A healthy holder has one for milliseconds, so that only what
// is in two lists in a row says anything.
func (s *Store) HeldLocks() []HeldLock {
	var held []HeldLock
	_ = s.disk.Each(string(Locks), func(raw []byte) { // no folder, no lock
		name := string(raw)
		if stripe, is := strings.CutSuffix(name, ".lock"); !is || len(stripe) != len("ff") {
			return // a lease, which is held for months
		}
		if ident.ProbeWitness(s.Path(Locks, name)) == ident.WitnessHeld {
			held = append(held, HeldLock{File: name, Holder: s.holder(string(Locks) + "/" + name)})
		}
	})
	slices.SortFunc(held, func(a, b HeldLock) int { return strings.Compare(a.File, b.File) })
	return held
}

// lastRead is how much of a journal's end LastEvents reads, in bytes.
const lastRead = 64 << 10

// LastEvents are the events at the end of the journal, some hundreds at most, the oldest first. What is no event (a line
// that was cut short) is passed over. It opens as safely as Read and cannot block; the error wraps fs.ErrNotExist where
// there is no journal yet.
func (s *Store) LastEvents() (events []Event, err error) {
	f, info, err := openSafe(s.disk, s.Path("", JournalFile), JournalFile, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-lastRead), lastRead))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.Path("", JournalFile), err)
	}
	for line := range bytes.Lines(text) {
		var e Event
		if json.Unmarshal(line, &e) == nil && !e.Time.IsZero() {
			events = append(events, e)
		}
	}
	return events, nil
}
