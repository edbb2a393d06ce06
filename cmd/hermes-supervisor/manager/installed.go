package manager

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hermes-supervisor/fsstate"
)

// Unit is an installed unit of ours.
type Unit struct {
	Manager string // Systemd, Launchd or WindowsTask
	Scope   string // User or System
	Name    string // as its manager names it
	Path    string // its file
	Home    string // the HERMES_HOME that it runs, "" where that could not be read
	// Stop is how long its manager waits for an ordered stop (TimeoutStopSec with its drop-ins, ExitTimeOut): 0 where it
	// says nothing, and the manager's own default holds; Forever where it waits as long as it takes.
	Stop time.Duration
	Text string // what is in the file, as text with plain line ends
}

// Forever is a Unit.Stop without an end.
const Forever = time.Duration(1<<63 - 1)

// Installed finds our own units for the home, in every scope and under every name: those that begin with
// hermes-supervisor and bear our mark. One that does not tell its home is among them. The error is of a folder or a file
// that cannot be read.
func Installed(roots Roots, home fsstate.Home) ([]Unit, error) {
	var units []Unit
	err := each(roots, ownNames, func(f file) {
		if ours, _ := Ours(f.text); !ours && !f.unread {
			return
		}
		u := Unit{Manager: f.manager, Scope: f.scope, Name: f.name, Path: f.path, Text: f.text}
		argv, set := f.command(roots.UserHome)
		u.Home = cmp.Or(flagOf(argv, "--home"), set)
		if u.Home == "" && len(argv) > 0 && f.scope == User {
			u.Home = filepath.Join(roots.UserHome, ".hermes") // a packager's unit: each user's own
		}
		if u.Home == "" || samePath(u.Home, home.Path) {
			u.Stop = f.stop(roots.UserHome)
			units = append(units, u)
		}
	})
	return units, err
}

// file is a unit's file as it was found.
type file struct {
	manager, scope, name, path string
	text                       string
	unread                     bool     // it is there, and could not be read
	dropIns                    []string // texts of systemd's
}

// names is how the files of somebody's units are called with each manager: prefixes of the name without its suffix.
type names struct{ systemd, launchd, task, s6 string }

var (
	ownNames    = names{systemd: "hermes-supervisor", launchd: "org.hermes-supervisor", task: "hermes-supervisor"}
	hermesNames = names{systemd: "hermes-gateway", launchd: "ai.hermes.gateway", task: "Hermes_Gateway", s6: "gateway-"}
)

// each calls f for every unit of those names. Of several with one name in one scope only the first is in force.
func each(roots Roots, n names, f func(file)) error {
	seen := map[string]bool{}
	var failed error
	look := func(manager, scope, folder, prefix, suffix string) {
		if folder == "" || prefix == "" {
			return
		}
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
		for _, e := range entries {
			name := e.Name()
			stem, is := strings.CutSuffix(name, suffix)
			if !is || !strings.HasPrefix(stem, prefix) || suffix != "" && e.IsDir() || seen[manager+scope+name] {
				continue
			}
			seen[manager+scope+name] = true
			found := file{manager: manager, scope: scope, name: name, path: filepath.Join(folder, name)}
			if manager == Launchd {
				found.name = stem
			}
			if masked(found.path) {
				continue
			}
			from := found.path
			if manager == S6 {
				if _, err := os.Lstat(filepath.Join(from, "down")); err == nil {
					continue // it is not to be run
				}
				from = filepath.Join(from, "run")
			}
			data, err := readUnit(from)
			if errors.Is(err, fs.ErrNotExist) {
				continue // a link into nothing is no unit, and a service without run no service
			}
			found.text, found.unread = plainText(data), err != nil
			if manager == Systemd {
				found.dropIns = dropIns(roots, scope, name)
			}
			f(found)
		}
	}
	for _, folder := range roots.SystemdUser {
		look(Systemd, User, folder, n.systemd, ".service")
	}
	for _, folder := range roots.SystemdSystem {
		look(Systemd, System, folder, n.systemd, ".service")
	}
	for _, folder := range roots.LaunchAgents {
		look(Launchd, User, folder, n.launchd, ".plist")
	}
	for _, folder := range roots.LaunchDaemons {
		look(Launchd, System, folder, n.launchd, ".plist")
	}
	for _, folder := range roots.S6 {
		look(S6, System, folder, n.s6, "")
	}
	for _, folder := range roots.Tasks {
		look(WindowsTask, User, folder, n.task, "")
	}
	return failed
}

// masked tells of a unit that `systemctl mask` has put out of use.
func masked(path string) bool {
	target, err := os.Readlink(path)
	return err == nil && target == os.DevNull
}

// Read is the text of a unit's file, with plain line ends; there is false where no file is.
func Read(path string) (text string, there bool, err error) {
	data, err := readUnit(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return plainText(data), true, err
}

// maxUnit is far above what a unit takes.
const maxUnit = 256 << 10

// readUnit reads a file that may be anybody's (units of the machine are root's), which cannot block and is no device.
func readUnit(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxUnit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("no unit: not a regular file, or too large")}
	}
	return os.ReadFile(path)
}

// dropIns are the texts of a unit's drop-ins, as `systemctl edit` makes them, in the order of their names.
func dropIns(roots Roots, scope, name string) []string {
	folders := roots.SystemdUser
	if scope == System {
		folders = roots.SystemdSystem
	}
	var texts []string
	for _, folder := range slices.Backward(folders) { // what a person wrote counts last
		matches, _ := filepath.Glob(filepath.Join(folder, name+".d", "*.conf"))
		for _, path := range matches {
			if data, err := readUnit(path); err == nil {
				texts = append(texts, string(data))
			}
		}
	}
	return texts
}

// command is the command line of a unit, and what its environment says of HERMES_HOME.
func (f file) command(userHome string) (argv []string, home string) {
	switch f.manager {
	case Systemd:
		s := readSystemd(userHome, append([]string{f.text}, f.dropIns...)...)
		if s.unclear && f.scope == System {
			return nil, "" // %h of another user
		}
		return s.exec, s.env["HERMES_HOME"]
	case Launchd:
		_, array, _ := strings.Cut(withoutComments(f.text), "<key>ProgramArguments</key>")
		array, _, _ = strings.Cut(array, "</array>")
		return xmlTexts(array, "string"), plistString(f.text, "HERMES_HOME")
	case WindowsTask:
		for _, text := range xmlTexts(f.text, "Arguments") {
			argv = append(argv, windowsWords(text)...)
		}
		if argv != nil {
			argv = append(xmlTexts(f.text, "Command"), argv...)
		}
		return argv, ""
	default:
		return strings.Fields(f.text), "" // a script of one exec
	}
}

func (f file) stop(userHome string) time.Duration {
	switch f.manager {
	case Systemd:
		return readSystemd(userHome, append([]string{f.text}, f.dropIns...)...).stop
	case Launchd:
		n, err := strconv.Atoi(plistString(f.text, "ExitTimeOut"))
		switch {
		case err != nil || n < 0:
			return 0
		case n == 0: // launchd.plist(5): "infinity"
			return Forever
		}
		if stop := time.Duration(n) * time.Second; f.scope == System || stop < GUIExitTimeOut {
			return stop
		}
		return GUIExitTimeOut
	}
	return 0
}

// flagOf is the value of a flag in a command line, written apart or with =; "" where it is not there.
func flagOf(argv []string, flag string) string {
	for i, arg := range argv {
		if arg == flag && i+1 < len(argv) {
			return argv[i+1]
		}
		if value, is := strings.CutPrefix(arg, flag+"="); is {
			return value
		}
	}
	return ""
}

// samePath tells whether two paths are the same by name, or by what they lead to.
func samePath(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
