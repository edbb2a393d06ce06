package main

import (
	"encoding/json"
	"fmt"
	"os"

	"hermes-supervisor/fsstate"
)

// writeOutcome writes how a call ended: a file is replaced whole, so that a reader sees all or nothing; what is no
// regular file itself (a FIFO, a device, a link such as /dev/stderr) is written to.
func (a *app) writeOutcome(path string, outcome map[string]any) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(outcome, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return fmt.Errorf("write the outcome: %w", err)
		}
		_, err = f.Write(data)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		return err
	}
	if err := fsstate.ReplaceFile(path, data, 0o644); err != nil {
		return fmt.Errorf("write the outcome: %w", err)
	}
	return nil
}
