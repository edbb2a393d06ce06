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
	"strings"
	"time"
)

// An unavailableError says why an agent is not there to be tested, which is no fault of the program under test.
type unavailableError struct{ reason string }

func (e *unavailableError) Error() string { return e.reason }

// npmInstall makes sure that dir/node_modules holds the package at exactly that version, with npm's own configuration of
// where packages come from. Any failure of npm is an *unavailableError.
func npmInstall(ctx context.Context, dir, name, version string) error {
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
