package follow

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Temporary files of a textfile; the collector reads what ends in .prom.
const tempEnd = ".tmp"

func tempStart(path string) string { return "." + filepath.Base(path) + "-" }

// writeTextfile replaces the file, for everybody to read: the collector is another user. It is written to a new file beside
// it that is renamed, so nobody reads half of it, and not synced: after a crash of the machine there is a newer one.
//
// The error is the same for the same fault, so that it is said once: it does not name the new file.
func writeTextfile(path, text string) error {
	err := replaceTextfile(path, text)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replaceTextfile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), tempStart(path)+"*"+tempEnd)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// leftoverAge is far beyond what a replacement takes.
const leftoverAge = time.Minute

// removeLeftovers removes the temporary files of a supervisor that was killed.
func removeLeftovers(path string, now time.Time) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempStart(path)) || !strings.HasSuffix(e.Name(), tempEnd) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > leftoverAge {
			_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

// removeTextfile removes what nobody will update any more: the collector would show it for ever.
func removeTextfile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
