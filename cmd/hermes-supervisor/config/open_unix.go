//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openFlags: O_NONBLOCK and O_NOFOLLOW for what takes the file's place between the look and the open.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// maxExit is the largest exit code that wait(2) tells.
const maxExit = 255

const writableByOthers = 0o022

// othersMayChange says who but the user, root and the user id as could change the file or folder, "" where nobody can. A POSIX access
// list that lets another user write shows in the group's bits.
func othersMayChange(info fs.FileInfo, as int) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "has an owner that cannot be told"
	}
	if uid := int(stat.Uid); uid != 0 && uid != as && uid != os.Geteuid() {
		return fmt.Sprintf("belongs to user id %d, neither you nor root", uid)
	}
	if perm := info.Mode().Perm(); perm&writableByOthers != 0 {
		return fmt.Sprintf("can be written by others (mode %04o)", perm)
	}
	return ""
}

// remedy is what a person can do about it, "" where the owner has to.
func remedy(info fs.FileInfo, path string) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() {
		return ""
	}
	return ": chmod go-w " + path
}
