package turn

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

// Leftover is a file that nothing needs any more.
type Leftover struct {
	Folder fsstate.Folder
	File   string
}

// Leftovers lists what Sweep removes, tmp/ apart: records past their keeping time, and the files in run/ of instances that
// no record names and nobody holds.
func (r *Room) Leftovers(ctx context.Context, now time.Time) []Leftover {
	return append(r.outlived(now), r.unheld(ctx, now)...)
}

// Sweep removes what nothing needs any more, and tells how many files those were. It is called now and then by whoever
// runs anyway; a fault in one file leaves the rest, and the next sweep.
func (r *Room) Sweep(ctx context.Context, now time.Time) (removed int) {
	unfinished, _ := r.Store.StaleTmp(now) // the sweep itself tells of a folder that cannot be read
	switch err := r.Store.SweepTmp(now); {
	case errors.Is(err, fs.ErrClosed): // its home was let go meanwhile: who serves it next sweeps it
		return 0
	case err != nil:
		r.log().Warn("tmp/ not swept", "error", err.Error())
	default:
		removed += len(unfinished)
	}
	removed += r.drop(r.outlived(now)) // first, since they name instances
	return removed + r.drop(r.unheld(ctx, now))
}

func (r *Room) drop(files []Leftover) (removed int) {
	for _, l := range files {
		if err := r.Store.Remove(l.Folder, l.File); err != nil {
			r.log().Warn("old file not removed", "folder", string(l.Folder), "file", l.File, "error", err.Error())
			continue
		}
		removed++
	}
	return removed
}

// outlived lists the records past their keeping time.
func (r *Room) outlived(now time.Time) []Leftover {
	var found []Leftover
	for _, folder := range []fsstate.Folder{fsstate.Ended, fsstate.Outcomes} {
		found = append(found, r.older(folder, now.Add(-keepEnded))...)
	}
	return append(found, r.older(fsstate.Requests, now.Add(-24*time.Hour))...)
}

// older lists the files of a folder that were last changed before a point in time.
func (r *Room) older(folder fsstate.Folder, before time.Time) []Leftover {
	names, err := r.Store.List(folder)
	if err != nil {
		return nil
	}
	var found []Leftover
	for _, name := range names {
		info, err := r.Store.Stat(folder, name)
		if err != nil || !info.ModTime.Before(before) || folder == fsstate.Requests && name == pauseFile {
			continue
		}
		found = append(found, Leftover{folder, name})
	}
	return found
}

// unheld spares what is young (its marker may be about to be written), named by a record, or held.
func (r *Room) unheld(ctx context.Context, now time.Time) []Leftover {
	names, err := r.Store.List(fsstate.Run)
	if err != nil {
		return nil
	}
	var named map[string]bool
	var found []Leftover
	for _, name := range names {
		if ctx.Err() != nil {
			return found
		}
		instance, _, _ := strings.Cut(name, ".")
		info, err := r.Store.Stat(fsstate.Run, name)
		if err != nil || now.Sub(info.ModTime) < time.Hour {
			continue
		}
		if named == nil {
			named = r.namedInstances()
		}
		if named == nil || named[instance] || !r.free(instance) {
			continue
		}
		found = append(found, Leftover{fsstate.Run, name})
	}
	return found
}

// free tells whether nobody holds a file of an instance. A lock that cannot be looked at (no descriptor left, a file whose mode
// was changed) may be held; what is no regular file is no lock.
func (r *Room) free(instance string) bool {
	for _, suffix := range []string{".in", ".out", ".err"} {
		path := r.Store.Path(fsstate.Run, instance+suffix)
		switch ident.ProbeWitness(path) {
		case ident.WitnessHeld:
			return false
		case ident.WitnessUnknown:
			info, err := os.Lstat(path)
			if err == nil && info.Mode().IsRegular() || err != nil && !errors.Is(err, fs.ErrNotExist) {
				return false
			}
		case ident.WitnessFree:
		}
	}
	return true
}

// namedInstances are the instances that some record still names; nil when a record cannot be read, since it may name
// any of them.
func (r *Room) namedInstances() map[string]bool {
	named := map[string]bool{}
	turns, bad := r.files().All(fsstate.Turns)
	ended, badEnded := r.files().All(fsstate.Ended) // brought back, their owners are judged again
	if len(bad)+len(badEnded) > 0 {
		return nil
	}
	turns = append(turns, ended...)
	for _, t := range turns {
		named[t.Owner.Instance], named[t.Keeper.Instance] = true, true
		if t.Receipt != nil {
			named[t.Receipt.Instance] = true
		}
	}
	services, bad := fsstate.ServiceFiles{Store: r.Store, Key: r.Key}.All()
	if len(bad) > 0 {
		return nil
	}
	for _, s := range services {
		named[s.Process.Instance], named[s.Next], named[s.Supervisor.Instance] = true, true, true
	}
	claims, err := fsstate.HandoffFiles{Store: r.Store, Key: r.Key}.Claims()
	if err != nil {
		return nil
	}
	for _, claim := range claims {
		named[claim] = true
	}
	kept, err := r.files().OutcomeInstances()
	if err != nil {
		return nil
	}
	for _, instance := range kept {
		named[instance] = true
	}
	return named
}
