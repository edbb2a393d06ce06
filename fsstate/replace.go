package fsstate

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// ReadFile reads a file outside the store, such as one of Hermes's own, with the safety of Store.Read and a bound of
// its own in bytes.
func ReadFile(path string, limit int64) ([]byte, Info, error) {
	return readFile(fileProblem, path, limit)
}

// ReadUserFile is ReadFile for a file that is the user's, such as an agent's settings: its mode is the user's business.
func ReadUserFile(path string, limit int64) ([]byte, Info, error) {
	return readFile(userFileProblem, path, limit)
}

func readFile(rule func(fs.FileInfo) string, path string, limit int64) ([]byte, Info, error) {
	d, err := openDisk(filepath.Dir(path))
	if err != nil {
		return nil, Info{}, err
	}
	defer d.Close() //nolint:errcheck // read only
	return readBy(rule, d, path, filepath.Base(path), limit)
}

// ReplaceFile replaces a file outside the store durably. A file that is there keeps its mode, and is refused with an
// *UnsafeError when Store.Read would refuse it (a link that a user set up must not silently become a file); a new one
// gets perm. The temporary file lies beside it under a random dot name, and stays there only if we are killed: see
// RemoveLeftovers.
func ReplaceFile(path string, data []byte, perm fs.FileMode) error {
	return replaceFile(fileProblem, path, data, perm)
}

// ReplaceUserFile is ReplaceFile for what ReadUserFile reads.
func ReplaceUserFile(path string, data []byte, perm fs.FileMode) error {
	return replaceFile(userFileProblem, path, data, perm)
}

func replaceFile(rule func(fs.FileInfo) string, path string, data []byte, perm fs.FileMode) error {
	d, err := openDisk(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // a directory handle
	name := filepath.Base(path)
	info, err := d.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if problem := rule(info); problem != "" {
			return &UnsafeError{Op: "replace", Path: path, Problem: problem}
		}
		perm = info.Mode().Perm()
	}
	if err := replace(d, tempPrefix(name)+randomName(), name, data, perm); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return nil
}

// leftoverAge is far beyond what a replacement takes: a temporary file that is older has lost its writer.
const leftoverAge = time.Minute

// RemoveLeftovers removes the temporary files of replacements of a file that were killed.
func RemoveLeftovers(path string) error {
	d, err := openDisk(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // a directory handle
	prefix := tempPrefix(filepath.Base(path))
	var found []string
	if err := d.Each(".", func(name []byte) {
		if rest, ok := strings.CutPrefix(string(name), prefix); ok && isRandomName(rest) {
			found = append(found, string(name))
		}
	}); err != nil {
		return err
	}
	for _, name := range found {
		info, err := d.Lstat(name)
		if err == nil && userFileProblem(info) == "" && time.Since(info.ModTime()) > leftoverAge {
			err = d.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// tempPrefix is how the temporary files for a file begin; randomName follows.
func tempPrefix(name string) string { return "." + name + "-" }

// randomName is a file name that nobody can have made before.
func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

func isRandomName(name string) bool {
	b, err := hex.DecodeString(name)
	return err == nil && len(b) == 8 && name == strings.ToLower(name)
}
