package fsstate

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
)

// Folder is a folder below supervisor/. The empty one is supervisor/ itself.
type Folder string

// The folders of a store; DESIGN.md "On disk".
const (
	Turns    Folder = "turns"    // one open turn each
	Ended    Folder = "ended"    // turns given up, stale or replaced
	Outcomes Folder = "outcomes" // recorded ends of requests that had an id
	Handoffs Folder = "handoffs" // one handoff each
	Services Folder = "services" // desired state, identity, counters
	Requests Folder = "requests" // commands for a running supervisor, and its answers
	Run      Folder = "run"      // an instance's witness and a turn's output
	Tmp      Folder = "tmp"      // new versions before their rename
	Log      Folder = "log"      // a service's output
	Locks    Folder = "locks"    // flock stripes
)

// folders are in the order in which they are made: Locks comes last.
var folders = []Folder{Turns, Ended, Outcomes, Handoffs, Services, Requests, Run, Tmp, Log, Locks}

// plainName is a name that is a file name as it is on every system, upper and lower case apart or not.
var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// Windows takes these for devices in any folder and with any extension.
var deviceName = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

// Name is the file name, without extension, that stands for a key: the key itself where it is plain and names no
// Windows device, else "=" and its SHA-256 in hex. The key is inside the document as well, and compared.
func Name(key string) string {
	if plainName.MatchString(key) && !deviceName.MatchString(key) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "=" + hex.EncodeToString(sum[:])
}

const corruptMark = ".corrupt-"

// in joins a folder and a file name, and refuses a name that could leave the folder or mean something else elsewhere.
func in(op string, folder Folder, file string) (string, error) {
	if file == "" || file == "." || file == ".." || len(file) > 255 ||
		strings.ContainsAny(file, "/\\:\x00") || !filepath.IsLocal(file) {
		return "", &fs.PathError{Op: op, Path: string(folder) + "/" + file, Err: fs.ErrInvalid}
	}
	if folder == "" {
		return file, nil
	}
	return string(folder) + "/" + file, nil
}
