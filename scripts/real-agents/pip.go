package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pipAgent makes sure that the virtual environment dir has the package at exactly that version, with pip's own
// configuration of where packages come from, and returns its folder of programs. Any failure is an *unavailableError.
func pipAgent(ctx context.Context, dir, name, version, program string) (bin string, err error) {
	bin = filepath.Join(dir, "bin")
	if pipVersion(bin, name) == version {
		return bin, nil
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return "", &unavailableError{"python3 is not installed"}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for _, argv := range [][]string{
		{python, "-m", "venv", dir},
		{
			filepath.Join(bin, "python"), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check",
			name + "==" + version,
		},
	} {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", &unavailableError{fmt.Sprintf("install %s==%s: %v: %s", name, version, err, brief(string(out)))}
		}
	}
	if _, err := exec.LookPath(filepath.Join(bin, program)); err != nil {
		return "", &unavailableError{fmt.Sprintf("%s==%s has no program %s", name, version, program)}
	}
	return bin, nil
}

// pipVersion is the version of a package in a virtual environment, "" where there is none. Asked of the files rather than
// of pip, which takes a second to say so.
func pipVersion(bin, name string) string {
	pattern := filepath.Join(filepath.Dir(bin), "lib", "python3*", "site-packages", strings.ReplaceAll(name, "-", "_")+"-*.dist-info")
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		return ""
	}
	_, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(found[0]), ".dist-info"), "-")
	return version
}
