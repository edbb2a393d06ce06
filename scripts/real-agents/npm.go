package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// An unavailableError says why an agent is not there to be tested, which is no fault of the program under test.
type unavailableError struct{ reason string }

func (e *unavailableError) Error() string { return e.reason }

// npmMutex is held while npm writes: agents are installed beside each other, and some into one folder.
var npmMutex sync.Mutex

// npmAgent makes sure of a package whose program says its version, and returns the folder of that program.
func npmAgent(ctx context.Context, dir, name, version, program, says string) (bin string, err error) {
	dir = filepath.Join(dir, "npm")
	if err := npmInstall(ctx, dir, name, version); err != nil {
		return "", err
	}
	bin = filepath.Join(dir, "node_modules", ".bin")
	return bin, answers(ctx, filepath.Join(bin, program), says)
}

// answers checks that a program runs and says its version: a native agent is an optional dependency, and npm succeeds
// without it.
func answers(ctx context.Context, program, says string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if said := strings.TrimSpace(string(out)); err != nil || !strings.HasSuffix(said, says) {
		return &unavailableError{fmt.Sprintf("%s --version does not answer %s: %v: %s", filepath.Base(program), says, err, brief(said))}
	}
	return nil
}

// nodePlatform is what Node calls this system, as the names of its native packages have it.
func nodePlatform() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return runtime.GOOS + "-" + arch
}

// npmInstall makes sure that dir/node_modules holds the package at exactly that version, with npm's own configuration of
// where packages come from. Any failure of npm is an *unavailableError.
func npmInstall(ctx context.Context, dir, name, version string) error {
	npmMutex.Lock()
	defer npmMutex.Unlock()
	if npmVersion(dir, name) == version {
		return nil
	}
	npm, err := exec.LookPath("npm")
	if errors.Is(err, exec.ErrNotFound) {
		return &unavailableError{"npm is not installed"}
	} else if err != nil {
		return &unavailableError{err.Error()}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory for agents: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	// The agents have no install scripts, and none that they might get is asked for.
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", dir,
		"--ignore-scripts", "--no-audit", "--no-fund", "--no-progress", "--no-update-notifier", "--loglevel=error",
		name+"@"+version)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return &unavailableError{fmt.Sprintf("npm install %s@%s: %v", name, version, context.Cause(ctx))}
	case err != nil:
		return &unavailableError{fmt.Sprintf("npm install %s@%s: %v: %s", name, version, err, brief(string(out)))}
	}
	if got := npmVersion(dir, name); got != version {
		return &unavailableError{fmt.Sprintf("npm install %s@%s left version %q", name, version, got)}
	}
	return nil
}

// npmVersion is the version of a package below dir/node_modules, "" where there is none.
func npmVersion(dir, name string) string {
	data, err := fs.ReadFile(os.DirFS(dir), filepath.ToSlash(filepath.Join("node_modules", name, "package.json")))
	if err != nil {
		return ""
	}
	var manifest struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(data, &manifest) != nil {
		return ""
	}
	return manifest.Version
}

// brief is the first lines of a program's complaint on one line, without npm's label on each.
func brief(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "npm error"))
		if line != "" && len(lines) < 3 {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
