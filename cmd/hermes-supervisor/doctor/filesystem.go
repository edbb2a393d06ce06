package doctor

import (
	"context"
	"fmt"
)

// Below these a home is about to stop working: a turn's record needs a few KiB, an agent's output has no bound.
const (
	scarceBytes = 1 << 30
	leastBytes  = 64 << 20
	leastFiles  = 1000
)

// lookAtFileSystem: whether locks can be trusted where the home lies, and whether there is room.
func lookAtFileSystem(_ context.Context, e Env) []Finding {
	if e.HomeErr != nil {
		return ok("not looked at: there is no home")
	}
	at := existing(e.Home.Path)
	trusted, name, err := e.FileSystem(at)
	if err != nil {
		return []Finding{problem(err.Error(), sh("df", at))}
	}
	var found []Finding
	switch {
	case !trusted && e.Unsafe:
		found = append(found, warning(fmt.Sprintf("%s lies on %s, whose locks are not trusted: nobody else may use this home (--unsafe-filesystem)", at, name), localHome))
	case !trusted:
		found = append(found, problem(fmt.Sprintf("%s lies on %s, whose locks are not trusted: everything that writes refuses it", at, name), localHome))
	}
	space, err := e.Space(at)
	biggest := "du -xh " + sh(at) + " | sort -h | tail -n 20"
	switch {
	case err != nil:
		found = append(found, problem(err.Error(), sh("df", at)))
	case space.Free < leastBytes:
		found = append(found, problem(fmt.Sprintf("%s: the disk is full (%s left)", at, size(space.Free)), biggest))
	case space.Total > 0 && space.Files < leastFiles:
		found = append(found, problem(fmt.Sprintf("%s: no more than %d files can be made (inodes)", at, space.Files), "du -x --inodes "+sh(at)+" | sort -n | tail -n 20"))
	case space.Free < scarceBytes:
		found = append(found, warning(fmt.Sprintf("%s: little room on the disk (%s left)", at, size(space.Free)), biggest))
	}
	return orOK(found, "%s, %s free", name, size(space.Free))
}

// localHome moves the home to a disk of this machine.
const localHome = `sudo install -d -m 700 -o "$(id -un)" /var/lib/hermes && export HERMES_HOME=/var/lib/hermes`

// size is a number of bytes for people.
func size(bytes uint64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}
