package fsstate

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// tree makes folders ("x/") and files (path: content) below a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o700)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestResolveHome(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the table's paths are those of Unix")
	}
	coder := map[string]string{".hermes/profiles/coder/": "", ".hermes/active_profile": " Coder\n"}
	with := func(more ...string) map[string]string {
		files := maps.Clone(coder)
		for i := 0; i < len(more); i += 2 {
			files[more[i]] = more[i+1]
		}
		return files
	}
	const none = "\x00" // no user home
	for name, c := range map[string]struct {
		files   map[string]string
		flag    string // paths beginning with @ lie in the tree, which is the user's home
		env     string // HERMES_HOME
		more    map[string]string
		user    string
		want    string
		root    string
		profile string
		problem string // part of the *HomeError
	}{
		"nothing set":                {want: "@/.hermes", root: "@/.hermes"},
		"suffix":                     {more: map[string]string{"HERMES_DATA_DIR_SUFFIX": "-dev"}, want: "@/.hermes-dev", root: "@/.hermes-dev"},
		"env":                        {env: "@/data", want: "@/data", root: "@/data"},
		"env with blanks":            {env: " @/data/ \n", want: "@/data", root: "@/data"},
		"env blank is unset":         {env: "  ", want: "@/.hermes", root: "@/.hermes"},
		"env without a user home":    {env: "@/data", user: none, want: "@/data", root: "@/data"},
		"nothing at all":             {user: none, problem: "no home directory"},
		"relative env":               {env: "data", problem: "must be an absolute path"},
		"tilde in env":               {env: "~/.hermes", problem: "must be an absolute path"},
		"flag beats env":             {flag: "@/flag", env: "@/data", want: "@/flag", root: "@/flag"},
		"flag is cleaned":            {flag: "@/flag/../x/", want: "@/x", root: "@/x"},
		"active profile":             {files: coder, want: "@/.hermes/profiles/coder", root: "@/.hermes", profile: "coder"},
		"active profile, env = root": {files: coder, env: "@/.hermes", want: "@/.hermes/profiles/coder", root: "@/.hermes", profile: "coder"},
		"active profile of env's own root": {
			files: map[string]string{"data/profiles/coder/": "", "data/active_profile": "coder"},
			env:   "@/data", want: "@/data/profiles/coder", root: "@/data", profile: "coder",
		},
		"flag ignores the active profile": {files: coder, flag: "@/.hermes", want: "@/.hermes", root: "@/.hermes"},
		"env names a profile": {
			files: with(".hermes/profiles/other/", ""), env: "@/.hermes/profiles/other",
			want: "@/.hermes/profiles/other", root: "@/.hermes", profile: "other",
		},
		"flag names a profile":              {files: coder, flag: "@/.hermes/profiles/coder", want: "@/.hermes/profiles/coder", root: "@/.hermes", profile: "coder"},
		"a supervised child stays":          {files: coder, more: map[string]string{"HERMES_SUPERVISED_CHILD": "1"}, want: "@/.hermes", root: "@/.hermes"},
		"a supervised s6 child stays":       {files: coder, more: map[string]string{"HERMES_S6_SUPERVISED_CHILD": "1"}, env: "@/.hermes", want: "@/.hermes", root: "@/.hermes"},
		"env below the native root":         {files: with(".hermes/sub/", ""), env: "@/.hermes/sub", want: "@/.hermes/profiles/coder", root: "@/.hermes", profile: "coder"},
		"active profile is default":         {files: map[string]string{".hermes/active_profile": "DEFAULT\n"}, want: "@/.hermes", root: "@/.hermes"},
		"active profile is empty":           {files: map[string]string{".hermes/active_profile": "\n"}, want: "@/.hermes", root: "@/.hermes"},
		"active profile is no text":         {files: map[string]string{".hermes/active_profile": "\xff\xfe"}, want: "@/.hermes", root: "@/.hermes"},
		"active profile is missing":         {files: map[string]string{".hermes/active_profile": "gone"}, problem: "profile gone does not exist"},
		"active profile is reserved":        {files: map[string]string{".hermes/active_profile": "root"}, problem: "reserved"},
		"active profile leaves the folder":  {files: map[string]string{".hermes/active_profile": "../../etc"}, problem: "holds no profile name"},
		"active profile is a folder":        {files: map[string]string{".hermes/active_profile/": ""}, problem: "active_profile is a directory"},
		"active profile is deleted":         {files: with(".hermes/profiles/.deleted/coder", ""), problem: "profile coder was deleted"},
		"env names a deleted profile":       {files: with(".hermes/profiles/.deleted/coder", ""), env: "@/.hermes/profiles/coder", problem: "was deleted"},
		"flag names a deleted profile":      {files: with(".hermes/profiles/.deleted/coder/", ""), flag: "@/.hermes/profiles/coder", problem: "was deleted"},
		"flag names a missing profile":      {files: coder, flag: "@/.hermes/profiles/gone", problem: "does not exist"},
		"a profile with a bad name":         {files: with(".hermes/profiles/Bad Name/", ""), flag: "@/.hermes/profiles/Bad Name", problem: "is no profile name"},
		"the folder of tombstones":          {files: with(".hermes/profiles/.deleted/coder", ""), flag: "@/.hermes/profiles/.deleted", problem: "is no profile name"},
		"a profile called default":          {files: with(".hermes/profiles/default/", ""), env: "@/.hermes/profiles/default", problem: "root home itself"},
		"a profile that is a file":          {files: with(".hermes/profiles/file", ""), env: "@/.hermes/profiles/file", problem: "is a regular file"},
		"a home that is a file":             {files: map[string]string{"file": ""}, flag: "@/file", problem: "is a regular file"},
		"a home below a file":               {files: map[string]string{"file": ""}, flag: "@/file/x", problem: "cannot be looked at"},
		"HERMES_HOME need not exist (root)": {env: "@/new", want: "@/new", root: "@/new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, c.files)
			at := func(path string) string { return strings.ReplaceAll(path, "@", dir) }
			user := dir
			if c.user == none {
				user = ""
			}
			getenv := func(key string) string {
				if key == "HERMES_HOME" {
					return at(c.env)
				}
				return c.more[key]
			}
			h, err := ResolveHome(at(c.flag), getenv, user)
			if c.problem != "" {
				if e, ok := errors.AsType[*HomeError](err); !ok || !strings.Contains(e.Error(), c.problem) {
					t.Errorf("%+v, %v; want %q", h, err, c.problem)
				}
				return
			}
			if want := (Home{at(c.want), at(c.root), c.profile}); err != nil || h != want {
				t.Errorf("got  %+v, %v\nwant %+v", h, err, want)
			}
		})
	}
}

func TestResolveHomeMakesARelativeFlagAbsolute(t *testing.T) {
	t.Parallel()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	h, err := ResolveHome("some/home", func(string) string { return "" }, "")
	if err != nil || h.Path != filepath.Join(wd, "some", "home") {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestNativeHomeOfWindows(t *testing.T) {
	t.Parallel()
	env := map[string]string{"LOCALAPPDATA": " L ", "HERMES_DATA_DIR_SUFFIX": "-x"}
	if got := nativeHome("windows", func(k string) string { return env[k] }, "U"); got != filepath.Join("L", "hermes-x") {
		t.Error(got)
	}
	delete(env, "LOCALAPPDATA")
	if got := nativeHome("windows", func(k string) string { return env[k] }, "U"); got != filepath.Join("U", "AppData", "Local", "hermes-x") {
		t.Error(got)
	}
}

func TestHomesAreTheRootAndItsLiveProfiles(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"profiles/b/": "", "profiles/a/": "", "profiles/gone/": "", "profiles/.deleted/gone": "", "profiles/default/": "",
		"profiles/Bad/": "", "profiles/x y/": "", "profiles/file": "", "profiles/.hidden/": "",
	})
	dir := filepath.Join(root, "profiles")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "dangling")); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	homes, err := Homes(Home{Path: filepath.Join(dir, "a"), Root: root, Profile: "a"})
	if err != nil || len(homes) != 3 || homes[0] != (Home{Path: root, Root: root}) ||
		homes[1] != (Home{filepath.Join(dir, "a"), root, "a"}) || homes[2].Profile != "b" {
		t.Errorf("%+v, %v", homes, err)
	}
	empty := t.TempDir()
	if homes, err := Homes(Home{Path: empty, Root: empty}); err != nil || len(homes) != 1 {
		t.Errorf("no profiles: %+v, %v", homes, err)
	}
	file := tree(t, map[string]string{"profiles": ""})
	if _, err := Homes(Home{Path: file, Root: file}); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("profiles is a file: %v", err)
	}
}
