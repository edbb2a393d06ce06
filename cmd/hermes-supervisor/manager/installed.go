package manager

import (
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
	Program string // what it starts, "" where that could not be read
	Home    string // the HERMES_HOME that it runs, "" where that could not be read
	Own     bool   // Home is the one that was asked for, or could not be read: else it is its root, or a profile of it
	// Stop is how long its manager waits for an ordered stop (TimeoutStopSec with its drop-ins, ExitTimeOut): 0 where it
	// says nothing, and the manager's own default holds; Forever where it waits as long as it takes.
	Stop time.Duration
	Text string // what is in the file, as text with plain line ends
}

// Forever is a Unit.Stop without an end.
const Forever = time.Duration(1<<63 - 1)

// Installed finds our own units for the home, in every scope and under every name: those that begin with
// hermes-supervisor and bear our mark. Since the run of a root serves its profiles, that of the root is one for a profile,
// and those of the profiles are for their root; one that does not tell its home is one for each. The error is of a folder or
// a file that cannot be read.
func Installed(roots Roots, home fsstate.Home) ([]Unit, error) {
	var units []Unit
	err := each(roots, ownNames, func(f file) {
		ours, _ := Ours(f.text)
		if f.manager == WindowsTask { // its service has written the text anew, without comments
			ours = strings.Contains(f.text, madeBy)
		}
		if !ours && !f.unread {
			return
		}
		u := Unit{Manager: f.manager, Scope: f.scope, Name: f.name, Path: f.path, Text: f.text}
		argv, set, known := f.command(roots.UserHome)
		if len(argv) > 0 {
			u.Program = argv[0]
		}
		if u.Home = flagOf(argv, "--home"); u.Home == "" && known {
			u.Home = set
		}
		if u.Home == "" && known && f.scope == User {
			u.Home = filepath.Join(roots.UserHome, ".hermes") // a packager's unit: each user's own
		}
		u.Own = u.Home == "" || samePath(u.Home, home.Path)
		ofProfile := home.Profile == "" && samePath(filepath.Dir(u.Home), filepath.Join(home.Path, "profiles"))
		if u.Own || samePath(u.Home, home.Root) || ofProfile {
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
		listed := make([]string, 0, len(entries))
		for _, e := range entries {
			listed = append(listed, e.Name())
		}
		switch {
		case manager == WindowsTask && errors.Is(err, fs.ErrPermission):
			listed = []string{prefix} // only administrators may list tasks: the one of the root home can still be asked for
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			failed = errors.Join(failed, err)
		}
		for _, name := range listed {
			stem, is := strings.CutSuffix(name, suffix)
			if !is || !strings.HasPrefix(stem, prefix) || seen[manager+scope+name] {
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
	of := []string{"service.d"} // of every service, then of each beginning of the name, then its own
	for i, c := range name {
		if c == '-' {
			of = append(of, name[:i+1]+".service.d")
		}
	}
	var texts []string
	for _, own := range append(of, name+".d") {
		for _, folder := range slices.Backward(folders) { // what a person wrote counts last
			entries, _ := os.ReadDir(filepath.Join(folder, own))
			for _, e := range entries {
				if !strings.HasSuffix(e.Name(), ".conf") {
					continue
				}
				if data, err := readUnit(filepath.Join(folder, own, e.Name())); err == nil {
					texts = append(texts, string(data))
				}
			}
		}
	}
	return texts
}

func (f file) stop(userHome string) time.Duration {
	switch f.manager {
	case Systemd:
		return f.settings(userHome).stop
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

// samePath tells whether two paths are the same by name, or by what they lead to.
func samePath(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
