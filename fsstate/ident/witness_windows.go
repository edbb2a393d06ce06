package ident

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// The witness of Windows is one byte far behind any content: LockFileEx is mandatory, so a lock on the content would
// keep the agent from reading its own stdin.
const (
	witnessOffset = 1 << 40
	witnessLength = 1
)

// LockWitness takes the exclusive lock of a witness file, without waiting. The error is a [*fs.PathError], and wraps
// [ErrWitnessHeld] when another handle has the lock.
//
// On Windows the lock is a LockFileEx byte range at offset 1<<40, held by the process that called LockWitness: locks
// are not inherited there, so a held witness says that the locker (the keeper) lives, not that the agent does. That
// is enough, because the agent runs in a job object that closes with its keeper and ends the whole tree: no keeper,
// no agent. It stays locked until f is closed or the process ends, which the system may notice a moment later.
func LockWitness(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	var locked error
	err = conn.Control(func(fd uintptr) {
		locked = lockByte(windows.Handle(fd), windows.LOCKFILE_EXCLUSIVE_LOCK)
	})
	if err == nil {
		err = locked
	}
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = ErrWitnessHeld
	}
	if err != nil {
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// ProbeWitness tells whether the lock of a witness file is held. It never blocks and follows no link: what is not a
// regular file on a disk is [WitnessUnknown]. It tries the shared lock, so that probes do not disturb each other,
// and releases it at once; the file may be renamed or removed meanwhile.
func ProbeWitness(path string) Witness {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return WitnessUnknown
	}
	// Not os.Open: it does not share deletion, so a probe could make the owner's removal fail.
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, windows.GENERIC_READ, share, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return WitnessUnknown
	}
	defer windows.CloseHandle(h) //nolint:errcheck // nothing was written

	if kind, err := windows.GetFileType(h); err != nil || kind != windows.FILE_TYPE_DISK {
		return WitnessUnknown
	}
	const special = windows.FILE_ATTRIBUTE_DIRECTORY | windows.FILE_ATTRIBUTE_REPARSE_POINT | windows.FILE_ATTRIBUTE_DEVICE
	var info windows.ByHandleFileInformation
	if windows.GetFileInformationByHandle(h, &info) != nil || info.FileAttributes&special != 0 {
		return WitnessUnknown
	}
	switch err := lockByte(h, 0); {
	case err == nil:
		at := witnessByte()
		_ = windows.UnlockFileEx(h, 0, witnessLength, 0, &at) // closing the handle would, but perhaps later
		return WitnessFree
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return WitnessHeld
	default:
		return WitnessUnknown
	}
}

func lockByte(h windows.Handle, flags uint32) error {
	at := witnessByte()
	return windows.LockFileEx(h, flags|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, witnessLength, 0, &at)
}

func witnessByte() windows.Overlapped {
	return windows.Overlapped{Offset: witnessOffset & 0xffffffff, OffsetHigh: witnessOffset >> 32}
}
