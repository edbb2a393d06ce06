//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	pollEvery = 5 * time.Millisecond
	patience  = 30 * time.Second // for everything that is promised, on a busy machine too
	hitBy     = 5 * time.Second  // a fault point that was not come to by then is left for another round
	hitsFrom  = 200              // kills from which on every fault point must have been hit
	hitsLeast = 5
	hitsExtra = 2 // times as many kills, at most, until each of them was
)

// A tempest is one storm: what only its goroutine touches.
type tempest struct {
	options

	place  place
	rand   *rand.Rand
	tally  tally
	wishes map[string]wish
	mark   string
}

// storm runs it all; the error is a *brokenError when a rule did not hold. The summary is "" where nothing was judged.
func storm(ctx context.Context, o options, stdout io.Writer) (summary string, err error) {
	t := &tempest{
		options: o, wishes: map[string]wish{}, tally: tally{hits: map[string]int{}},
		rand: rand.New(rand.NewPCG(o.seed, 0)), //nolint:gosec // not secret
	}
	dir, err := os.MkdirTemp("", "kill-run-")
	if err != nil {
		return "", fmt.Errorf("make scratch directory: %w", err)
	}
	t.mark = filepath.Base(dir)
	program, err := os.Executable()
	if err == nil {
		t.place, err = newPlace(dir, program)
	}
	if err == nil && o.supervisor == "" {
		t.supervisor, err = build(ctx, dir)
	} else if err == nil {
		t.supervisor, err = filepath.Abs(o.supervisor)
	}
	if err == nil { // nothing that a killed run leaves behind gets away, and is left for an init that may not reap
		err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	lines := 0
	if err == nil {
		lines, err = t.blow(ctx, stdout)
		killAll(t.mark)
	}
	if _, isRule := errors.AsType[*brokenError](err); isRule {
		return t.tally.summary(lines, 1), fmt.Errorf("%w (after %d kills; kept: %s)", err, t.tally.kills, dir)
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return "", err
	}
	return t.tally.summary(lines, 0), nil
}

// blow plays round after round, and the end.
func (t *tempest) blow(ctx context.Context, stdout io.Writer) (lines int, err error) {
	for _, s := range services {
		t.wishes[s.name] = wish{want: up}
	}
	began := time.Now()
	for said := began; !t.enough() && (t.limit == 0 || time.Since(began) < t.limit); {
		if err := t.round(ctx); ctx.Err() != nil || err != nil {
			return 0, cmp.Or(ctx.Err(), err) // what is interrupted breaks no rule
		}
		if time.Since(said) > 2*time.Second {
			said = time.Now()
			fmt.Fprintf(stdout, "%3.0f s: %s\n", time.Since(began).Seconds(), t.tally.progress(t.kills))
		}
	}
	if t.tally.kills >= hitsFrom && t.tally.least() < hitsLeast {
		return 0, broken("fault points were hit fewer than %d times: %v", hitsLeast, t.tally.hits)
	}
	return t.end(ctx)
}

// enough tells whether so many were killed, at every fault point too.
func (t *tempest) enough() bool {
	n := t.tally.kills
	return n >= t.kills && (n < hitsFrom || t.tally.least() >= hitsLeast || n >= hitsExtra*t.kills)
}

// build makes the program under test, with its fault points, from this module's source.
func build(ctx context.Context, scratch string) (string, error) {
	binary := filepath.Join(scratch, "hermes-supervisor")
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-tags", "faultpoints", "-o", binary, "hermes-supervisor/cmd/hermes-supervisor")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build hermes-supervisor: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return binary, nil
}
