package main

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"

	"github.com/rhysd/actionlint"
)

// workflows lints each one; its scripts too where shellcheck is installed.
func workflows(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("there are none")
	}
	shellcheck, _ := exec.LookPath("shellcheck") // "": without
	var said bytes.Buffer
	linter, err := actionlint.NewLinter(&said, &actionlint.LinterOptions{Color: actionlint.ColorOptionKindNever, Shellcheck: shellcheck})
	if err != nil {
		return err
	}
	found, err := linter.LintFiles(files, nil)
	if err == nil && len(found) > 0 {
		err = errors.New(said.String())
	}
	return err
}
