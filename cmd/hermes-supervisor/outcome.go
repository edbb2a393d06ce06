package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/turn"
)

// checkOutcome refuses, before anything runs, a file for the outcome that could not be made afterwards.
func checkOutcome(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return &turn.UsageError{Problem: "--outcome: " + err.Error()}
	}
	if !info.IsDir() {
		return &turn.UsageError{Problem: fmt.Sprintf("--outcome: %s is no folder", filepath.Dir(path))}
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &turn.UsageError{Problem: fmt.Sprintf("--outcome: %s is a folder", path)}
	}
	return nil
}

// writeOutcome writes how a call ended: a file is replaced whole, so that a reader sees all or nothing, also behind a
// link; what is no regular file (a FIFO, a device, /dev/stderr) is written to, without waiting for a reader.
func (a *app) writeOutcome(path string, outcome map[string]any) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(outcome, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if target, err := filepath.EvalSymlinks(path); err == nil && !strings.HasPrefix(target, "/proc/") {
		path = target
	}
	if info, err := os.Stat(path); err == nil && (!info.Mode().IsRegular() || isLink(path)) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
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

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}
