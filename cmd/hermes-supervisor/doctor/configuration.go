package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
)

// lookAtConfiguration: hermes.toml as `run` reads it. Whether the programs that it names are there is in the checks of the
// agents and services.
func lookAtConfiguration(_ context.Context, e Env) []Finding {
	if e.ConfigErr != nil {
		return []Finding{e.badConfiguration()}
	}
	if e.Source.Path == "" {
		return ok("no configuration folder is known (no HOME): the defaults hold")
	}
	if _, err := os.Stat(e.Source.Path); errors.Is(err, fs.ErrNotExist) {
		return ok("no hermes.toml: the defaults hold (%s)", e.Source.Path)
	}
	return ok("%s", e.Source.Path)
}

func (e Env) badConfiguration() Finding {
	c, is := errors.AsType[*config.Error](e.ConfigErr)
	if !is {
		return problem(e.ConfigErr.Error(), e.call("check"))
	}
	text := c.Error()
	if rest, remedy, found := strings.Cut(text, ": chmod "); found {
		return problem(rest, "chmod "+remedy) // the configuration's own word
	}
	info, err := os.Stat(c.File)
	switch {
	case errors.Is(err, fs.ErrNotExist) && e.Source.Explicit:
		return problem(text, "unset "+config.Var)
	case err == nil && !info.Mode().IsRegular():
		return problem(text, aside(c.File))
	case err == nil && strings.Contains(text, "permission denied"):
		return problem(text, sh("chmod", "u+r", c.File))
	case c.Line > 0:
		return problem(text, fmt.Sprintf("${EDITOR:-vi} +%d %s", c.Line, sh(c.File)))
	}
	return problem(text, edit(c.File))
}

// lookAtKey: what seals the records. Without it, or with another one, nothing is continued without a person.
func lookAtKey(_ context.Context, e Env) []Finding {
	if e.Source.Dir == "" {
		return []Finding{warning("no configuration folder is known (no HOME): records are not sealed, and nothing is continued without a person", "export HOME=~")}
	}
	path := fsstate.KeyPath(e.Source.Dir)
	_, err := fsstate.ReadKey(e.Source.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && e.sealed():
		return []Finding{problem(path+" is missing, and the records of this home were sealed with it: nothing is continued without a person", e.call("turn", "resume", "--all"))}
	case errors.Is(err, fs.ErrNotExist):
		return ok("no key yet: made by the first turn")
	case err != nil:
		return []Finding{e.badKey(path, err)}
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o044 != 0 && e.UID >= 0 {
		return []Finding{problem(fmt.Sprintf("%s may be read by others (mode %04o), who could forge records", path, info.Mode().Perm()), sh("chmod", "600", path))}
	}
	return ok("%s", path)
}

func (e Env) badKey(path string, err error) Finding {
	if _, broken := errors.AsType[*fsstate.CorruptError](err); broken {
		return problem(err.Error(), aside(path))
	}
	u, unsafe := errors.AsType[*fsstate.UnsafeError](err)
	if !unsafe {
		return problem(err.Error(), sh("chmod", "700", filepath.Dir(path)))
	}
	if info, err := os.Lstat(u.Path); err == nil && info.Mode().IsRegular() && owned(info) && info.Mode().Perm()&othersWrite != 0 {
		return problem(u.Path+" "+u.Problem, sh("chmod", "600", u.Path))
	}
	return problem(u.Path+" "+u.Problem, mend(u.Path, filepath.Dir(e.Source.Dir)))
}

// sealed tells whether there are records that a key has sealed.
func (e Env) sealed() bool {
	for _, p := range e.used() {
		for _, folder := range []fsstate.Folder{fsstate.Turns, fsstate.Services, fsstate.Handoffs} {
			if names, err := p.Store.List(folder); err == nil && len(names) > 0 {
				return true
			}
		}
	}
	return false
}
