//go:build !linux

package process

import (
	"errors"
	"os"
)

// punchHole is Linux's: macOS has F_PUNCHHOLE and Windows FSCTL_SET_ZERO_DATA, both only for some file systems. What
// was followed stays on the disk until the file goes.
func punchHole(*os.File, int64, int64) error { return errors.ErrUnsupported }

// watchPath gives add the name that f was opened by.
func watchPath(f *os.File, add func(string) error) error { return add(f.Name()) }
