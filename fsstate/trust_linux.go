package fsstate

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// trustedTypes are the file systems that one kernel serves and whose flock was measured or is documented to hold.
var trustedTypes = map[int64]string{
	unix.EXT4_SUPER_MAGIC:      "ext", // ext2 and ext3 as well
	unix.XFS_SUPER_MAGIC:       "xfs",
	unix.BTRFS_SUPER_MAGIC:     "btrfs",
	0x2fc12fc1:                 "zfs",
	unix.TMPFS_MAGIC:           "tmpfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	0x7366746e:                 "ntfs3",
}

// untrustedTypes only give a person a word instead of a number.
var untrustedTypes = map[int64]string{
	unix.NFS_SUPER_MAGIC:   "nfs",
	unix.CIFS_SUPER_MAGIC:  "cifs",
	unix.SMB2_SUPER_MAGIC:  "smb2",
	unix.SMB_SUPER_MAGIC:   "smb",
	unix.V9FS_MAGIC:        "9p",
	unix.FUSE_SUPER_MAGIC:  "fuse (or virtiofs)",
	unix.CEPH_SUPER_MAGIC:  "ceph",
	unix.MSDOS_SUPER_MAGIC: "vfat",
	unix.EXFAT_SUPER_MAGIC: "exfat",
}

// trusted tells whether the locks of the file system below path may be relied on, and its name.
func trusted(path string) (bool, string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return false, "", &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	if name, ok := trustedTypes[st.Type]; ok {
		return true, name, nil
	}
	if name, ok := untrustedTypes[st.Type]; ok {
		return false, name, nil
	}
	return false, fmt.Sprintf("of unknown type %#x", st.Type), nil
}
