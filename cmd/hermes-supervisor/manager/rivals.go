package manager

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"hermes-supervisor/fsstate"
)

// Rival is a unit of Hermes's own that runs the same home: two that keep up one gateway end each other's.
type Rival struct {
	Manager string // Systemd, Launchd, WindowsTask or S6
	Scope   string // User or System
	Name    string // as its manager names it
	Path    string // its file, or its folder with s6
	Home    string // the HERMES_HOME that it runs, "" where that could not be told
	Remove  string // the command that takes it away
}

// Rivals finds Hermes's own gateway units for the home, and where that is a root, for its profiles too, since `run` serves
// them. One whose home cannot be told is among them. The error is of a folder that cannot be listed.
func Rivals(roots Roots, home fsstate.Home) ([]Rival, error) {
	var rivals []Rival
	err := each(roots, hermesNames, func(f file) {
		r := Rival{Manager: f.manager, Scope: f.scope, Name: f.name, Path: f.path, Home: f.hermesHome(roots, home)}
		if r.Home != "" && !samePath(r.Home, home.Path) && (home.Profile != "" || !samePath(filepath.Dir(r.Home), filepath.Join(home.Path, "profiles"))) {
			return
		}
		r.Remove = RemoveCommand(r.Manager, r.Scope, r.Name, r.Path)
		rivals = append(rivals, r)
	})
	return rivals, err
}

// hermesHome is the home that a unit of Hermes's runs: that of its environment, or where it runs Hermes itself and no script
// the user's own, and in it the profile of its command line or of its name. "" where it cannot be told.
func (f file) hermesHome(roots Roots, asked fsstate.Home) string {
	argv, home, known := f.command(roots.UserHome)
	if f.unread || !known || f.manager == WindowsTask { // the task runs a script, which knows
		return ""
	}
	if slices.ContainsFunc(argv, func(arg string) bool { return strings.Contains(arg, " --profile") }) {
		return "" // in the script of a shell
	}
	itself := slices.ContainsFunc(argv, func(arg string) bool { return strings.HasPrefix(filepath.Base(arg), "hermes") })
	profile := cmp.Or(flagOf(argv, "--profile"), flagOf(argv, "-p"))
	switch {
	case home != "":
	case f.manager == S6:
		home = asked.Root // the one of its container, which is not written there
		profile = cmp.Or(profile, strings.TrimPrefix(f.name, hermesNames.s6))
	case f.scope == User && roots.UserHome != "" && itself:
		home = filepath.Join(roots.UserHome, ".hermes")
	default:
		return ""
	}
	if profile == "" || profile == "default" || filepath.Base(filepath.Dir(home)) == "profiles" {
		return home
	}
	return filepath.Join(home, "profiles", profile)
}

// RemoveCommand is what takes a unit away for good, as a person types it.
func RemoveCommand(manager, scope, name, path string) string {
	switch manager {
	case Systemd:
		if scope == System {
			return "sudo systemctl disable --now " + name + " && sudo rm " + Word(path)
		}
		return "systemctl --user disable --now " + name + " && rm " + Word(path)
	case Launchd:
		if scope == System {
			return "sudo launchctl bootout system/" + name + "; sudo rm " + Word(path)
		}
		return "launchctl bootout gui/$(id -u)/" + name + "; rm " + Word(path)
	case WindowsTask:
		return `schtasks /Delete /F /TN "` + name + `"`
	default:
		return "touch " + Word(filepath.Join(path, "down")) + " && s6-svc -d " + Word(path)
	}
}

// Word is a path, or any other argument, as a shell takes it.
func Word(path string) string {
	if path != "" && !strings.ContainsFunc(path, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("_:@%+=./,-", r)
	}) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
