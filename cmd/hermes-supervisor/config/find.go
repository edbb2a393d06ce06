package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Var is the environment variable that names the configuration file where -c does not.
const Var = "HERMES_SUPERVISOR_CONFIG"

// The default file, below the user's configuration folder.
const (
	folderName = "hermes-supervisor"
	fileName   = "hermes.toml"
)

// Source is where the configuration is.
type Source struct {
	Path     string // the file, as it was named
	Explicit bool   // somebody named it, so that it has to be there
	Dir      string // its folder, absolute: the one that also holds the HMAC key (a link's own, not its target's)
	// Owner is the user id of somebody else whose it may be, for who reads it in that user's name without running anything of
	// it (install --as); 0: nobody's but root's and one's own.
	Owner int
}

// Find says which file is the configuration: the one of -c (flag), else of HERMES_SUPERVISOR_CONFIG, else hermes.toml in
// <userConfigDir>/hermes-supervisor. An empty name is none. It reads no file.
//
// Without a name it is never a file of the working directory or below HERMES_HOME, where agents write: a user's
// configuration folder that is relative or inside HERMES_HOME is an *Error that asks for a name. Where there is none (a
// cron job or a container without HOME), there is no file and no folder: the Source is zero, and Load gives the defaults.
func Find(flag string, getenv func(string) string, userConfigDir string) (Source, error) {
	for _, named := range []string{flag, getenv(Var)} {
		if named == "" {
			continue
		}
		dir, err := filepath.Abs(filepath.Dir(named))
		if err != nil {
			return Source{}, &Error{File: named, Problem: "cannot be made absolute: " + err.Error()}
		}
		return Source{Path: named, Explicit: true, Dir: dir}, nil
	}
	const remedy = ": name a file with -c or " + Var
	switch {
	case userConfigDir == "":
		return Source{}, nil
	case !filepath.IsAbs(userConfigDir):
		return Source{}, &Error{File: userConfigDir, Problem: "the user's configuration folder is not absolute" + remedy}
	}
	dir := filepath.Join(userConfigDir, folderName)
	if home := hermesHome(getenv); home != "" && inside(dir, home) {
		return Source{}, &Error{File: dir, Problem: "lies inside the Hermes home " + home + ", where agents write" + remedy}
	}
	return Source{Path: filepath.Join(dir, fileName), Dir: dir}, nil
}

// hermesHome is where agents write as far as the environment tells, "" where it does not.
func hermesHome(getenv func(string) string) string {
	if home := getenv("HERMES_HOME"); home != "" {
		return home
	}
	base, name := getenv("HOME"), ".hermes"
	if runtime.GOOS == "windows" {
		base, name = getenv("LOCALAPPDATA"), "hermes"
	}
	if base == "" {
		return ""
	}
	return filepath.Join(base, name)
}

// inside tells whether path is folder or below it, by their names or by what these lead to.
func inside(path, folder string) bool {
	below := func(path, folder string) bool {
		rel, err := filepath.Rel(folder, path)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(os.PathSeparator))
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return false
	}
	return below(path, folder) || below(resolved(path), resolved(folder))
}

// resolved follows the links of as much of path as exists.
func resolved(path string) string {
	target, err := filepath.EvalSymlinks(path)
	if err == nil {
		return target
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolved(parent), filepath.Base(path))
}
