package fsstate

import (
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// readAll reads many documents, several at a time, in the order of their names. What cannot be read is in the second
// result, one error a file, and never hides the others; what has gone since it was listed is in neither.
func readAll[T any](names []string, read func(name string) (*T, error)) ([]*T, []error) {
	found, failed := make([]*T, len(names)), make([]error, len(names))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8, len(names)) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(names)); i = next.Add(1) - 1 {
				found[i], failed[i] = read(names[i])
			}
		})
	}
	readers.Wait()
	absent := func(t *T) bool { return t == nil }
	gone := func(err error) bool { return err == nil || errors.Is(err, fs.ErrNotExist) }
	return slices.DeleteFunc(found, absent), slices.DeleteFunc(failed, gone)
}
