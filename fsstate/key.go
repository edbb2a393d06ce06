package fsstate

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	keyFile  = "key"
	keySize  = 32
	keyLock  = "key.lock"
	tmpStart = ".key-"
)

// LoadKey gives the key that seals records: dir/key, 32 random bytes in hex, 0600. On first need it makes the key, and
// dir, durably; two makers at once agree, and one that is killed leaves nothing that a later one trips over. A key or a
// folder that others own or may write is refused with an *UnsafeError, a key of another form with a *CorruptError: it
// is never replaced, since that would unseal every record.
func LoadKey(dir string) ([]byte, error) { return loadKey(dir, openDisk) }

// loadKey does the work; the disk is a parameter as in open.
func loadKey(dir string, newDisk func(dir string) (disk, error)) ([]byte, error) {
	d, err := openKeyFolder(dir, newDisk)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // a directory handle
	key, made, err := readKey(d, dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := syncAbove(dir, newDisk); err != nil {
			return nil, err
		}
		return makeKey(d, dir)
	}
	if err == nil && time.Since(made) < settled {
		err = d.SyncDir(".")
	}
	if err != nil {
		return nil, err
	}
	return key, nil
}

// settled is when a name is durable without a sync, by far: the kernel writes back within seconds. The maker of a
// younger key may have been killed before its sync.
const settled = time.Hour

func openKeyFolder(dir string, newDisk func(dir string) (disk, error)) (disk, error) {
	if !filepath.IsAbs(dir) {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrInvalid}
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := makeKeyFolder(dir, newDisk); err != nil {
			return nil, err
		}
	}
	d, err := newDisk(dir)
	if err != nil {
		return nil, err
	}
	info, err := d.Lstat(".")
	if err == nil {
		if problem := dirProblem(info); problem != "" {
			err = &UnsafeError{Op: "open", Path: dir, Problem: problem}
		}
	}
	if err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

// makeKeyFolder makes dir and what is missing above it.
func makeKeyFolder(dir string, newDisk func(dir string) (disk, error)) error {
	parent := filepath.Dir(dir)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) && parent != dir {
		if err := makeKeyFolder(parent, newDisk); err != nil {
			return err
		}
	}
	d, err := newDisk(parent)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // a directory handle
	if err := d.Mkdir(filepath.Base(dir), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// syncAbove makes the names of dir and of all folders above it durable, before the key is: any of them may be new, made
// by this process or by one that was killed, and a key that a power loss takes away unseals every record.
func syncAbove(dir string, newDisk func(dir string) (disk, error)) error {
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if err := syncName(dir, newDisk); err != nil {
			return err
		}
	}
	return nil
}

func readKey(d disk, dir string) (key []byte, made time.Time, err error) {
	path := filepath.Join(dir, keyFile)
	text, info, err := readSafe(d, path, keyFile, 1024)
	if err != nil {
		return nil, time.Time{}, err
	}
	key, err = hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keySize {
		return nil, time.Time{}, &CorruptError{Path: path, Problem: fmt.Sprintf("is not a key of %d bytes in hex", keySize)}
	}
	return key, info.ModTime, nil
}

// makeKey makes the key under a lock, so that the rename that makes it appear whole cannot replace another's.
func makeKey(d disk, dir string) ([]byte, error) {
	s := &Store{dir: dir, disk: d, lockWait: LockWait}
	ctx, cancel := context.WithTimeout(context.Background(), s.lockWait)
	defer cancel()
	line := make(chan struct{}, 1)
	l, _, err := s.take(ctx, keyLock, line)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, &LockedError{Name: filepath.Join(dir, keyLock)}
	}
	if err != nil {
		return nil, err
	}
	defer l.Unlock() //nolint:errcheck // the process's end frees it
	if key, _, err := readKey(d, dir); !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := removeKilledMakers(d); err != nil {
		return nil, err
	}
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails: crypto/rand ends the process instead
	text := hex.EncodeToString(key) + "\n"
	if err := replace(d, tmpStart+randomName(), keyFile, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write %s: %w", filepath.Join(dir, keyFile), err)
	}
	return key, nil
}

func removeKilledMakers(d disk) error {
	entries, err := d.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tmpStart) {
			if err := d.Remove(e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
