//go:build unix

package doctor

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// SpaceOf is what is free for this user where a path lies.
func SpaceOf(path string) (Space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return Space{}, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	return Space{Free: st.Bavail * unsigned(st.Bsize), Files: st.Ffree, Total: st.Files}, nil
}

// unsigned is the size of a block, whose type differs by system.
func unsigned[T int64 | uint32](n T) uint64 { return uint64(max(n, 0)) }

// MayWrite tells whether this process may make files in a folder: nil, or why not.
func MayWrite(path string) error { return unix.Access(path, unix.W_OK|unix.X_OK) }

// owned tells whether a file is this user's.
func owned(info fs.FileInfo) bool {
	st, known := info.Sys().(*syscall.Stat_t)
	return known && int(st.Uid) == os.Geteuid()
}

// linked tells whether a file has more than one name.
func linked(info fs.FileInfo) bool {
	st, known := info.Sys().(*syscall.Stat_t)
	return known && st.Nlink > 1
}

// detached takes a program away from the terminal, and kills it with all that it started.
func detached(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
}
