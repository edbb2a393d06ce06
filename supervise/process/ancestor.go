package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes-supervisor/fsstate/ident"
)

// maxAncestors bounds the walk to the root: a chain that is longer changes under our eyes.
const maxAncestors = 256

// IsAncestor tells whether a process is an ancestor of this one: its parent, the parent of that, and so on. A process
// that is not there is none.
func IsAncestor(pid int) (bool, error) {
	found, err := ancestor(func(at int) bool { return at == pid })
	return found > 0, err
}

// NearestAncestor is the nearest ancestor of this process that goes by one of the names and is no shell; 0 where there is
// none. A name is that of the program (without .exe), or of the script or module that an interpreter runs.
func NearestAncestor(names []string) (int, error) {
	return ancestor(func(at int) bool { return goesBy(at, names) })
}

// NamedAncestors are all such ancestors of another process, which is one of this one's, the nearest first.
func NamedAncestors(of int, names []string) (found []int, err error) {
	above := false
	_, err = ancestor(func(at int) bool {
		if above && goesBy(at, names) {
			found = append(found, at)
		}
		above = above || at == of
		return false
	})
	return found, err
}

// goesBy tells whether a process is no shell and has one of the names.
func goesBy(pid int, names []string) bool {
	called := programNames(pid)
	return !isShell(called) && slices.ContainsFunc(names, func(name string) bool { return slices.Contains(called, bare(name)) })
}

// ancestor is the nearest one that is wanted; 0 where none is.
func ancestor(want func(pid int) bool) (int, error) {
	at := os.Getppid()
	for range maxAncestors {
		if at <= 0 {
			return 0, nil
		}
		if want(at) {
			return at, nil
		}
		if at == 1 {
			return 0, nil
		}
		parent, err := ident.Parent(at)
		if err != nil {
			return 0, fmt.Errorf("read the parents of pid %d: %w", os.Getpid(), err)
		}
		at = parent
	}
	return 0, nil
}

// Name is a process's own name for people; "" where it cannot be read.
func Name(pid int) string {
	name, _ := ident.Name(pid)
	return name
}

// Shell is the name of a process that is a shell; "" for any other, and where it cannot be read. A script that names its
// shell in its first line goes by its own name, but its program file is the shell's.
func Shell(pid int) string {
	called := programNames(pid)
	if !isShell(called) {
		return ""
	}
	return called[0]
}

// shells run hooks and are no agents: a record that names one would live and die with the wrong process.
var shells = []string{"sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "busybox", "tcsh", "csh", "cmd", "powershell", "pwsh"}

func isShell(called []string) bool {
	return slices.ContainsFunc(called, func(name string) bool { return slices.Contains(shells, name) })
}

// interpreters run agents that are scripts.
var interpreters = []string{"node", "nodejs", "bun", "deno", "python", "ruby"}

func isInterpreter(name string) bool {
	return slices.Contains(interpreters, strings.TrimRight(name, "0123456789.")) // python3.11
}

// programNames are what a process goes by: its own name, its program file's, that of its first argument, and of the script
// where that is an interpreter. An agent may overwrite its arguments with a title, and an interpreter its name with that of
// a thread ("MainThread"); the file it cannot.
func programNames(pid int) []string {
	var called []string
	add := func(name string) {
		if name = bare(name); name != "" && !slices.Contains(called, name) {
			called = append(called, name)
		}
	}
	if name, err := ident.Name(pid); err == nil {
		add(name)
	}
	if exe, err := ident.Executable(pid); err == nil {
		add(exe)
	}
	argv, err := ident.CommandLine(pid)
	if err != nil || len(argv) == 0 {
		return called
	}
	add(argv[0])
	if slices.ContainsFunc(called, isInterpreter) {
		for _, argument := range argv[1:] {
			if !strings.HasPrefix(argument, "-") {
				add(argument)
				break
			}
		}
	}
	return called
}

// bare is a program's name without its folder, the dash of a login shell, and what says how it is run.
func bare(path string) string {
	name := strings.TrimPrefix(filepath.Base(filepath.FromSlash(path)), "-")
	if name == "." || name == string(filepath.Separator) {
		return ""
	}
	for _, suffix := range []string{".exe", ".js", ".mjs", ".cjs", ".py"} {
		if rest, ok := strings.CutSuffix(name, suffix); ok && rest != "" {
			return rest
		}
	}
	return name
}
