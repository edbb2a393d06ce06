package fsstate

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// accessProblem finds nothing: owner and rights lie in an access control list, and Go's mode bits are made up.
func accessProblem(fs.FileInfo) string { return "" }

func ownerProblem(fs.FileInfo) string { return "" }

// linkProblem refuses a file with a second name; only an open handle tells.
func linkProblem(f *os.File) string {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return "has no link count that can be read"
	}
	if info.NumberOfLinks > 1 {
		return "has more than one name (hard link)"
	}
	return ""
}

func device(fs.FileInfo) (any, bool) { return nil, false }
