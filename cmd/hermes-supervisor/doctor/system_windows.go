package doctor

import (
	"io/fs"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// SpaceOf is what is free for this user where a path lies. NTFS has no bound on the number of files.
func SpaceOf(path string) (Space, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return Space{}, &fs.PathError{Op: "volume", Path: path, Err: err}
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(p, &free, nil, nil); err != nil {
		return Space{}, &fs.PathError{Op: "volume", Path: path, Err: err}
	}
	return Space{Free: free}, nil
}

// MayWrite always says yes: access lists are not evaluated here, and what is refused is told by who tries.
func MayWrite(string) error { return nil }

func owned(fs.FileInfo) bool { return true }

func linked(fs.FileInfo) bool { return false }

// detached gives a program no console window.
func detached(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NO_WINDOW}
}
