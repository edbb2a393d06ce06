package fsstate

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// trusted tells whether the locks of the file system below path may be relied on, and its name: APFS and HFS+ volumes
// of this machine.
func trusted(path string) (bool, string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return false, "", &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	name := unix.ByteSliceToString(st.Fstypename[:])
	local := st.Flags&unix.MNT_LOCAL != 0
	return local && (name == "apfs" || name == "hfs"), name, nil
}
