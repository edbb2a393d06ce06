//go:build unix

package fsstate

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFlags keep a link in the lock file's place from being followed and a FIFO from blocking the open.
const lockFlags = os.O_CREATE | os.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK

// holderOffset is where the holder's text begins.
const holderOffset = 0

func interrupted(err error) bool { return errors.Is(err, unix.EINTR) }
