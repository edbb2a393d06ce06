package config

import (
	"io/fs"
	"math"
	"os"
)

// openFlags: Windows has neither O_NONBLOCK nor O_NOFOLLOW; the look before the open refuses pipes and devices.
const openFlags = os.O_RDONLY

// maxExit is the largest exit code that GetExitCodeProcess tells (0xC0000005, an access violation, is 3221225477).
const maxExit = math.MaxUint32

// othersMayChange is not checked on Windows: neither owner nor access list. The user's configuration folder
// (%AppData%) is closed to other users by what it inherits; a file that -c names elsewhere is the user's own care.
func othersMayChange(fs.FileInfo, int) string { return "" }

func remedy(fs.FileInfo, string) string { return "" }
