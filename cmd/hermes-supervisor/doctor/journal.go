package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hermes-supervisor/fsstate"
)

// lookAtJournal: a journal that is never turned over, as when another program writes it or its folder cannot be written.
func lookAtJournal(_ context.Context, e Env) []Finding {
	var found []Finding
	var bytes int64
	for _, p := range e.used() {
		for _, name := range []string{fsstate.JournalFile, fsstate.OldJournalFile} {
			path := p.Store.Path("", name)
			info, err := os.Lstat(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				found = append(found, problem(err.Error(), aside(path)))
			}
			if err != nil || !info.Mode().IsRegular() {
				continue // the check of the permissions has said it
			}
			bytes += info.Size()
			if info.Size() > 2*fsstate.MaxJournal {
				found = append(found, warning(fmt.Sprintf("%s has %s, and is turned over at %s", path, size(uint64(info.Size())), size(fsstate.MaxJournal)), sh("truncate", "-s", "0", path))) //nolint:gosec // not negative
			}
		}
	}
	return orOK(found, "%s", size(uint64(bytes)))
}
