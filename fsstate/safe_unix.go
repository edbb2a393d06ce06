//go:build unix

package fsstate

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// accessProblem says who else may have written a file, as ssh's StrictModes asks.
func accessProblem(info fs.FileInfo) string {
	if problem := ownerProblem(info); problem != "" {
		return problem
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Sprintf("may be written by others (mode %04o)", info.Mode().Perm())
	}
	return ""
}

// ownerProblem says why a file is someone else's, whatever its mode. A link count of 0 is a file that was replaced after it
// was opened: a whole older version.
func ownerProblem(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return "has no owner that can be read"
	case int(st.Uid) != os.Geteuid():
		return fmt.Sprintf("belongs to uid %d, not to us (%d)", st.Uid, os.Geteuid())
	case !info.IsDir() && st.Nlink > 1:
		return "has more than one name (hard link)"
	}
	return ""
}

// linkProblem has nothing to add: the link count came with the file's status.
func linkProblem(*os.File) string { return "" }

// device is the file system that a file lies on, to be compared only: systems differ in its type.
func device(info fs.FileInfo) (dev any, known bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, false
	}
	return st.Dev, true
}
