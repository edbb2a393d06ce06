package process

import (
	"maps"
	"runtime"
	"slices"
	"strings"
)

// managerVars are the service manager's words to the process that it started, and to that one alone: a child that
// inherited them would report readiness in our name, or take WATCHDOG_PID as a reason not to ping (systemd#25961).
var managerVars = []string{
	"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
	"MAINPID", "INVOCATION_ID", "JOURNAL_STREAM", "MANAGERPID",
}

// ChildEnv returns the environment of a child: base without the service manager's variables (see sd_notify(3) and
// systemd.exec(5)), those of unset and those that set names, then set, sorted by name. A manager's variable that is to
// be passed on is named in set. Names are compared without regard to case on Windows.
func ChildEnv(base []string, set map[string]string, unset ...string) []string {
	dropped := func(name string) bool {
		if _, ok := set[name]; ok {
			return true
		}
		if runtime.GOOS == "windows" {
			for k := range set {
				if strings.EqualFold(k, name) {
					return true
				}
			}
		}
		return slices.Contains(managerVars, name) || slices.ContainsFunc(unset, func(n string) bool {
			return n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name)
		})
	}
	env := make([]string, 0, len(base)+len(set))
	for _, kv := range base {
		// Windows keeps the working directory of each drive in names that begin with "=".
		name, _, found := strings.Cut(strings.TrimPrefix(kv, "="), "=")
		if found && dropped(name) && !strings.HasPrefix(kv, "=") {
			continue
		}
		env = append(env, kv)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env
}
