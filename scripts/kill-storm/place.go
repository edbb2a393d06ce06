//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// A place is where one round plays: a home, a configuration, and what the agents and the calls write.
type place struct{ dir string }

// limit is how many continuations a prompt gets.
const limit = 2

const configuration = `[auto_continue]
backoff = "60ms"
max_backoff = "200ms"
`

func newPlace(scratch string, round int) (place, error) {
	p := place{filepath.Join(scratch, "round-"+strconv.Itoa(round))}
	for _, dir := range []string{"home", "config", "log", "lock", "call", "cwd"} {
		if err := os.MkdirAll(filepath.Join(p.dir, dir), 0o700); err != nil {
			return p, fmt.Errorf("make a place for a round: %w", err)
		}
	}
	return p, os.WriteFile(p.config(), []byte(configuration), 0o600)
}

func (p place) home() string               { return filepath.Join(p.dir, "home") }
func (p place) cwd() string                { return filepath.Join(p.dir, "cwd") }
func (p place) config() string             { return filepath.Join(p.dir, "config", "hermes.toml") }
func (p place) log(session string) string  { return filepath.Join(p.dir, "log", session) }
func (p place) lock(session string) string { return filepath.Join(p.dir, "lock", session) }
func (p place) call(name string) string    { return filepath.Join(p.dir, "call", name) }

// state is a path below the home's folder of ours.
func (p place) state(elem ...string) string {
	return filepath.Join(append([]string{p.home(), "supervisor"}, elem...)...)
}

// env is the environment of a keeper: nothing of the user's own configuration, and its own strike.
func (p place) env(s strike, faultLog string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir}
	if s.point != "" {
		env = append(env, faultVar+"="+s.String(), faultLogVar+"="+faultLog)
	}
	return env
}
