package manager

import (
	"os"
	"path/filepath"
	"slices"
)

// The service managers, as they are named on the command line and in JSON.
const (
	Systemd     = "systemd"
	Launchd     = "launchd"
	WindowsTask = "windows-task"
	S6          = "s6"
)

// The scopes of an installed unit.
const (
	User   = "user"   // of one user's own manager
	System = "system" // of the machine's
)

// Roots are the folders in which service managers keep their units; an empty one is not looked into. Tests plant files
// in folders of their own.
type Roots struct {
	SystemdUser   []string // where `systemctl --user` finds units, what a person installed first
	SystemdSystem []string
	LaunchAgents  []string // the user's own first
	LaunchDaemons []string
	S6            []string // scan folders, as Hermes's container image has one
	Tasks         []string // of Windows's Task Scheduler: one XML file each
	Linger        string   // one empty file for each user whose manager runs without a login
	UserHome      string   // the user's own folder: what does not name its home means the one below it
}

// AllUsersUnits is the folder of units that every user's own systemd reads: no place for one user's.
const AllUsersUnits = "/etc/systemd/user"

// DefaultRoots are those of this system. goos is runtime.GOOS, getenv os.Getenv, userHome os.UserHomeDir's.
func DefaultRoots(goos string, getenv func(string) string, userHome string) Roots {
	r := Roots{UserHome: userHome}
	in := func(base string, path ...string) []string {
		if !filepath.IsAbs(base) { // none, or another folder in every place: the manager's own is not below it
			return nil
		}
		return []string{filepath.Join(append([]string{base}, path...)...)}
	}
	switch goos {
	case "linux":
		own := in(getenv("XDG_CONFIG_HOME"), "systemd", "user")
		if own == nil {
			own = in(userHome, ".config", "systemd", "user")
		}
		r.SystemdUser = slices.Concat(own, []string{AllUsersUnits, "/usr/local/lib/systemd/user", "/usr/lib/systemd/user"})
		r.SystemdSystem = []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system"}
		r.S6 = []string{"/run/service"}
		r.Linger = "/var/lib/systemd/linger"
	case "darwin":
		r.LaunchAgents = append(in(userHome, "Library", "LaunchAgents"), "/Library/LaunchAgents")
		r.LaunchDaemons = []string{"/Library/LaunchDaemons"}
	case "windows":
		r.Tasks = in(getenv("SystemRoot"), "System32", "Tasks")
	}
	return r
}

// Linger tells whether the user's own manager runs without a login: else what it runs starts with the first login and
// ends with the last logout. `loginctl enable-linger USER` makes it so. The error is of a folder that cannot be read.
func Linger(roots Roots, user string) (bool, error) {
	if roots.Linger == "" || user == "" || filepath.Base(user) != user {
		return false, nil
	}
	_, err := os.Lstat(filepath.Join(roots.Linger, user))
	if os.IsNotExist(err) {
		return false, nil
	}
	return err == nil, err
}
