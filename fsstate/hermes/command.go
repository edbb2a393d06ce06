package hermes

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Programs and modules that are Hermes, from the entry points of its package and
// from what its service units, its desktop app and its terminal interface start.
var (
	programs = []string{"hermes", "hermes-acp", "hermes-agent", "hermes-gateway"}
	modules  = []string{"hermes_cli", "tui_gateway", "acp_adapter", "gateway.run", "run_agent"}
	scripts  = []string{"/gateway/run.py", "/run_agent.py"}
)

// isHermes says whether a command line is visibly a Hermes process. Only the
// program itself is looked at, for an interpreter its script or module: a later
// argument proves nothing, since our own keepers carry the agent's command line in
// theirs. Upstream's looser substring test took `gateway status` for a gateway.
func isHermes(argv []string) bool {
	if len(argv) == 0 {
		return false
	}
	name := programName(argv[0])
	if slices.Contains(programs, name) {
		return true
	}
	// A process title (setproctitle) is one string with spaces in it.
	if first, _, ok := strings.Cut(argv[0], " "); ok && len(argv) == 1 && slices.Contains(programs, programName(first)) {
		return true
	}
	if !strings.HasPrefix(name, "python") && !strings.HasPrefix(name, "pypy") {
		return false
	}
	return runsHermes(argv[1:])
}

// runsHermes looks at the arguments of a Python interpreter up to the script.
func runsHermes(args []string) bool {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "-m":
			return i+1 < len(args) && isModule(args[i+1])
		case strings.HasPrefix(arg, "-m"):
			return isModule(arg[2:])
		case arg == "-W", arg == "-X", arg == "--check-hash-based-pycs":
			i++ // takes a value
		case strings.HasPrefix(arg, "-c"), arg == "-":
			return false // code, not a program with a name
		case strings.HasPrefix(arg, "-"):
		default:
			return isScript(arg)
		}
	}
	return false
}

func isModule(name string) bool {
	return slices.ContainsFunc(modules, func(m string) bool {
		return name == m || strings.HasPrefix(name, m+".")
	})
}

func isScript(file string) bool {
	if slices.Contains(programs, programName(file)) {
		return true
	}
	rooted := "/" + slashed(file)
	return slices.ContainsFunc(scripts, func(s string) bool { return strings.HasSuffix(rooted, s) }) ||
		slices.ContainsFunc(modules, func(m string) bool { return strings.Contains(rooted, "/"+m+"/") })
}

// programName is the last element of a path of any system, in lower case and
// without what Windows puts behind it.
func programName(file string) string {
	name := strings.ToLower(path.Base(slashed(file)))
	for _, ending := range []string{".exe", "-script.py", "-script.pyw"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

func slashed(file string) string { return strings.ReplaceAll(file, `\`, "/") }

// mayServe says whether a Hermes process may write into home. It is denied only
// where the process's environment names another home: one without HERMES_HOME took
// the default, a sticky profile or a flag, and one that set a process title has
// overwritten its environment. A process of the root home serves every profile
// below it (session.create with a profile), one of a profile only its own.
func mayServe(home string, argv, environ []string) bool {
	at := environValue(environ, "HERMES_HOME")
	if !filepath.IsAbs(at) {
		return true
	}
	if sameFolder(at, home) || sameFolder(at, rootOf(home)) {
		return true
	}
	// A profile named on the command line lies below the same root.
	return namesProfile(argv) && sameFolder(rootOf(at), rootOf(home))
}

func environValue(environ []string, name string) string {
	for _, pair := range environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func namesProfile(argv []string) bool {
	return slices.ContainsFunc(argv, func(arg string) bool {
		return arg == "-p" || arg == "--profile" || strings.HasPrefix(arg, "--profile=")
	})
}

// rootOf is the root home above a profile's home, or the home itself.
func rootOf(home string) string {
	if above := filepath.Dir(filepath.Clean(home)); filepath.Base(above) == "profiles" {
		return filepath.Dir(above)
	}
	return home
}

// sameFolder compares by name first, which needs no file system.
func sameFolder(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
