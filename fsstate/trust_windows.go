package fsstate

import (
	"io/fs"

	"golang.org/x/sys/windows"
)

// trusted tells whether the locks of the volume below path may be relied on, and its name: NTFS and ReFS of this
// machine, not a share.
func trusted(path string) (bool, string, error) {
	fail := func(err error) (bool, string, error) {
		return false, "", &fs.PathError{Op: "volume", Path: path, Err: err}
	}
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return fail(err)
	}
	root := make([]uint16, windows.MAX_LONG_PATH)
	if err := windows.GetVolumePathName(p, &root[0], uint32(len(root))); err != nil { //nolint:gosec // a fixed array
		return fail(err)
	}
	var label, name [windows.MAX_PATH + 1]uint16
	err = windows.GetVolumeInformation(&root[0], &label[0], uint32(len(label)), nil, nil, nil, &name[0], uint32(len(name)))
	if err != nil {
		return fail(err)
	}
	fsName := windows.UTF16ToString(name[:])
	if windows.GetDriveType(&root[0]) == windows.DRIVE_REMOTE {
		return false, fsName + " on a share", nil
	}
	return fsName == "NTFS" || fsName == "ReFS", fsName, nil
}
