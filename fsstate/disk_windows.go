package fsstate

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

const (
	nonBlocking    = 0 // opening a name in a directory does not block on Windows: pipes and devices live elsewhere
	directoryFlags = os.O_RDONLY
)

// renameWait bounds the retries of a rename that a virus scanner or a reader without FILE_SHARE_DELETE (Python's open)
// holds up; cmd/go allows the same.
const renameWait = 2 * time.Second

func rename(root *os.Root, from, to string) error {
	deadline := time.Now().Add(renameWait)
	for pause := time.Millisecond; ; pause *= 2 {
		err := root.Rename(from, to)
		held := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !held || time.Now().Add(pause).After(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}

// syncDir does nothing: Windows has no way to flush a directory.
func syncDir(*os.Root, string) error { return nil }

func blocking(*os.File) error { return nil }
