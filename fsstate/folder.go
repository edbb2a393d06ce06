package fsstate

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"strings"
)

// Folder is a folder below supervisor/. The empty one is supervisor/ itself.
type Folder string

// The folders of a store; DESIGN.md "On disk".
const (
	Turns    Folder = "turns"    // one open turn each
	Ended    Folder = "ended"    // turns given up, stale or replaced
	Outcomes Folder = "outcomes" // recorded ends of requests that had an id
	Handoffs Folder = "handoffs" // one open handoff each
	Handed   Folder = "handed"   // handoffs that have ended
	Services Folder = "services" // desired state, identity, counters
	Requests Folder = "requests" // commands for a running supervisor, and its answers
	Run      Folder = "run"      // an instance's witness and a turn's output
	Tmp      Folder = "tmp"      // new versions before their rename
	Log      Folder = "log"      // a service's output
	Locks    Folder = "locks"    // flock stripes
)

// folders are in the order in which they are made: Locks comes last.
var folders = []Folder{Turns, Ended, Outcomes, Handoffs, Handed, Services, Requests, Run, Tmp, Log, Locks}

const (
	plainFirst = "abcdefghijklmnopqrstuvwxyz0123456789"
	plainRest  = plainFirst + "_-"
)

// PlainName says whether a name is a file name as it is on every system, upper and lower case apart or not: 1 to 64 of
// a-z, 0-9, _ and -, the first a letter or digit. Not a pattern: compiling one costs every start of the program 0.1 ms.
func PlainName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Contains(plainFirst, name[:1]) && strings.Trim(name, plainRest) == ""
}

// deviceName says whether Windows takes a plain name for a device, in any folder and with any extension.
func deviceName(name string) bool {
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	port, numbered := strings.CutPrefix(name, "com")
	if !numbered {
		port, numbered = strings.CutPrefix(name, "lpt")
	}
	return numbered && len(port) == 1 && port[0] >= '0' && port[0] <= '9'
}

// Name is the file name, without extension, that stands for a key: the key itself where it is plain and names no
// Windows device, else "=" and its SHA-256 in hex. The key is inside the document as well, and compared.
func Name(key string) string {
	if PlainName(key) && !deviceName(key) {
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
