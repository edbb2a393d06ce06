package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"hermes-supervisor/fsstate"
)

// lookAtHome: the folder that everything else lies in.
func lookAtHome(_ context.Context, e Env) []Finding {
	if e.HomeErr != nil {
		return []Finding{e.noHome()}
	}
	path := e.Home.Path
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return e.absentHome()
	}
	if err != nil {
		return []Finding{problem(err.Error(), sh("ls", "-ld", path))}
	}
	if !owned(info) {
		return []Finding{problem(path+" belongs to another user", "sudo chown -R \"$(id -un)\" "+sh(path))}
	}
	if err := e.Writable(path); err != nil {
		return []Finding{problem(path+" cannot be written: "+err.Error(), letWrite(err, sh("chmod", "u+rwx", path)))}
	}
	if perm := info.Mode().Perm(); perm&othersWrite != 0 {
		return []Finding{warning(fmt.Sprintf("%s may be written by others (mode %04o), who could put another supervisor/ in it", path, perm), sh("chmod", "go-w", path))}
	}
	if profiles := len(e.Places()) - 1; profiles > 0 {
		return ok("%s, %s", path, count(profiles, "profile"))
	}
	return ok("%s", path)
}

// absentHome is a home that nobody has used: the first turn makes it, but not the folders above it.
func (e Env) absentHome() []Finding {
	path := e.Home.Path
	if to, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		return []Finding{problem(fmt.Sprintf("%s is a link to %s, which is not there (is its disk mounted?)", path, to), sh("mkdir", "-p", "-m", "700", "--", to))}
	}
	above := filepath.Dir(path)
	if _, err := os.Stat(above); err != nil {
		return []Finding{problem(fmt.Sprintf("%s does not exist, and neither does %s (is its disk mounted?): a first turn would be refused", path, above), sh("mkdir", "-p", "-m", "700", path))}
	}
	if err := e.Writable(above); err != nil {
		return []Finding{problem(fmt.Sprintf("%s does not exist, and %s cannot be written: %v", path, above, err), "sudo install -d -m 700 -o \"$(id -un)\" "+sh(path))}
	}
	return ok("%s does not exist yet: made by the first turn", path)
}

// noHome is a home that cannot be told.
func (e Env) noHome() Finding {
	h, is := errors.AsType[*fsstate.HomeError](e.HomeErr)
	if !is {
		return problem(e.HomeErr.Error(), "export HOME=~") // it is not set: nothing can be made of it
	}
	remedy := `export HERMES_HOME="$HOME/.hermes"`
	switch {
	case strings.Contains(h.Problem, "active_profile"), h.Profile != "" && !strings.Contains(h.Problem, "looked at"):
		remedy = "hermes profile use default"
	case filepath.IsAbs(h.Path) && strings.Contains(h.Problem, "not a directory"):
		remedy = aside(h.Path)
	}
	return problem(h.Error(), remedy)
}

// letWrite is what mends a folder that cannot be written: chmod, except where the file system takes nothing.
func letWrite(err error, chmod string) string {
	if errors.Is(err, syscall.EROFS) {
		return localHome
	}
	return chmod
}

// count is "1 profile", "2 profiles".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
