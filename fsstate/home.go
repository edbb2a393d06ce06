package fsstate

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// Home is one HERMES_HOME.
type Home struct {
	Path    string // absolute: the HERMES_HOME in force
	Root    string // the root home; equals Path unless this is a profile's
	Profile string // name of the profile below Root/profiles; "" is the root home
}

// HomeError is a home that cannot be used: a profile that does not exist or was deleted, a bad name, a relative path.
type HomeError struct {
	Path    string
	Profile string // "" where no profile is meant
	Problem string
	Err     error // cause, or nil
}

func (e *HomeError) Error() string {
	text := "home " + e.Path + ": "
	if e.Profile != "" {
		text += "profile " + e.Profile + " "
	}
	text += e.Problem
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *HomeError) Unwrap() error { return e.Err }

const profilesFolder = "profiles"

// ResolveHome finds the home in force: the flag, then HERMES_HOME, then the system's default below userHome. As in
// Hermes, the last two are redirected by the root home's active_profile, unless HERMES_HOME already names a profile or
// the process is a child that a supervisor gave a fixed home; the flag is taken as it is. A relative flag counts from
// the working directory; a relative HERMES_HOME is refused, since it would mean another home in every folder. The error
// is a *HomeError. The root home need not exist; a profile must, and must not be deleted.
func ResolveHome(flag string, getenv func(string) string, userHome string) (Home, error) {
	if flag != "" {
		abs, err := filepath.Abs(flag)
		if err != nil {
			return Home{}, &HomeError{Path: flag, Problem: "cannot be made absolute", Err: err}
		}
		return homeAt(abs)
	}
	native := nativeHome(runtime.GOOS, getenv, userHome)
	path := strings.TrimSpace(getenv("HERMES_HOME"))
	root := native
	switch {
	case path == "" && native == "":
		return Home{}, &HomeError{Path: "~/.hermes", Problem: "the user has no home directory, and HERMES_HOME is not set"}
	case path == "":
		path = native
	case !filepath.IsAbs(path):
		return Home{}, &HomeError{Path: path, Problem: "HERMES_HOME must be an absolute path (\"~\" is not expanded)"}
	default:
		path = filepath.Clean(path)
		if native == "" || !within(path, native) {
			root = path
		}
	}
	fixed := getenv("HERMES_S6_SUPERVISED_CHILD") != "" || getenv("HERMES_SUPERVISED_CHILD") != ""
	if fixed || filepath.Base(filepath.Dir(path)) == profilesFolder {
		return homeAt(path)
	}
	profile, err := activeProfile(root)
	if err != nil {
		return Home{}, err
	}
	if profile == "" {
		return homeAt(path)
	}
	return homeAt(filepath.Join(root, profilesFolder, profile))
}

// Homes lists the root home and every live profile below it, the root first, then by name. Left out, as by Hermes: what
// is not a directory, bad names, "default"; and deleted profiles. A new profile is found by asking again.
func Homes(root Home) ([]Home, error) {
	homes := []Home{{Path: root.Root, Root: root.Root}}
	dir := filepath.Join(root.Root, profilesFolder)
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return homes, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() { // opening a FIFO would block
		return nil, &HomeError{Path: dir, Problem: "is " + kindOf(info.Mode()) + ", not a directory"}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		h := Home{Path: filepath.Join(dir, e.Name()), Root: root.Root, Profile: e.Name()}
		if h.check() == nil {
			homes = append(homes, h)
		}
	}
	slices.SortFunc(homes[1:], func(a, b Home) int { return strings.Compare(a.Profile, b.Profile) })
	return homes, nil
}

// homeAt is the home at an absolute path: a profile's if its folder lies in one called profiles, else a root.
func homeAt(path string) (Home, error) {
	h := Home{Path: path, Root: path}
	if parent := filepath.Dir(path); filepath.Base(parent) == profilesFolder {
		h = Home{Path: path, Root: filepath.Dir(parent), Profile: filepath.Base(path)}
	}
	return h, h.check()
}

// check refuses a home that is there and no directory, and a profile that is missing, deleted or badly named.
func (h Home) check() error {
	refuse := func(problem string, err error) error {
		return &HomeError{Path: h.Path, Profile: h.Profile, Problem: problem, Err: err}
	}
	if h.Profile != "" {
		if h.Profile == "default" {
			return refuse("is the root home itself, and no folder of its own", nil)
		}
		if !PlainName(h.Profile) {
			return refuse("is no profile name (a-z, 0-9, - and _, at most 64)", nil)
		}
		tombstone := filepath.Join(h.Root, profilesFolder, ".deleted", h.Profile)
		if _, err := os.Lstat(tombstone); err == nil {
			return refuse("was deleted (tombstone "+tombstone+")", nil)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return refuse("may have been deleted", err)
		}
	}
	info, err := os.Stat(h.Path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return refuse("is "+kindOf(info.Mode())+", not a directory", nil)
	case !errors.Is(err, fs.ErrNotExist):
		return refuse("cannot be looked at", err)
	case h.Profile != "":
		return refuse("does not exist", err)
	}
	return nil
}

// nativeHome is the default home of a system, "" when the user has no home directory.
func nativeHome(goos string, getenv func(string) string, userHome string) string {
	suffix := getenv("HERMES_DATA_DIR_SUFFIX")
	if goos == "windows" {
		if local := strings.TrimSpace(getenv("LOCALAPPDATA")); local != "" {
			return filepath.Join(local, "hermes"+suffix)
		}
	}
	switch {
	case userHome == "":
		return ""
	case goos == "windows":
		return filepath.Join(userHome, "AppData", "Local", "hermes"+suffix)
	}
	return filepath.Join(userHome, ".hermes"+suffix)
}

// within tells whether path is dir or lies below it, links resolved where they can be.
func within(path, dir string) bool {
	resolve := func(p string) string {
		if r, err := filepath.EvalSymlinks(p); err == nil {
			return r
		}
		return p
	}
	rel, err := filepath.Rel(resolve(dir), resolve(path))
	return err == nil && filepath.IsLocal(rel)
}

// activeProfile reads the profile that `hermes profile use` chose; "" is the root home. As in Hermes a file that cannot
// be read or is no text chooses nothing; unlike there, a FIFO cannot block us.
func activeProfile(root string) (string, error) {
	path := filepath.Join(root, "active_profile")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return "", &HomeError{Path: root, Problem: "active_profile is " + kindOf(info.Mode()) + ", not a regular file"}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return "", nil
	}
	defer f.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil || !utf8.Valid(data) {
		return "", nil
	}
	name := strings.ToLower(strings.TrimSpace(string(data)))
	switch name {
	case "default":
		return "", nil
	case "hermes", "test", "tmp", "root", "sudo": // Hermes's reserved names
		return "", &HomeError{Path: root, Profile: name, Problem: "has a reserved name (active_profile)"}
	}
	if name != "" && !PlainName(name) {
		return "", &HomeError{Path: root, Problem: "active_profile holds no profile name"}
	}
	return name, nil
}
