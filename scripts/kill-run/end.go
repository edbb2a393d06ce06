//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// countLaunches reads all logs, holds that every launch was alone, and counts those of each service.
func (t *tempest) countLaunches() (map[string]int, error) {
	n, starts := map[string]int{}, 0
	for _, s := range services {
		for _, log := range s.logs {
			all, err := t.place.launches(log)
			if err != nil {
				return nil, err
			}
			if rule := judgeCopies(log, all); rule != "" {
				return nil, broken("%s", rule)
			}
			n[log] = len(all)
		}
		starts += n[s.name]
	}
	t.tally.starts = starts
	return n, nil
}

// end starts run once more, stops it in order, and judges what is left and what was printed.
func (t *tempest) end(ctx context.Context) (lines int, err error) {
	began, err := t.countLaunches()
	if err != nil {
		return 0, err
	}
	run, err := t.call("run.out", "", "run")
	if err == nil {
		err = t.awaitWishes(ctx, run, began)
	}
	if err == nil {
		err = t.stop(ctx, run)
	}
	if err == nil {
		_, err = t.countLaunches()
	}
	for _, s := range services {
		for _, p := range s.printed {
			n := 0
			if err == nil {
				n, err = t.readBack(ctx, s, p)
			}
			lines += n
		}
	}
	return lines, err
}

// stop ends a run in order.
func (t *tempest) stop(ctx context.Context, run *child) error {
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		return broken("run died by itself")
	}
	switch {
	case !run.ended(ctx, patience):
		return broken("run lives on %v after SIGTERM", patience)
	case !run.ProcessState.Success():
		return broken("run ended by SIGTERM with %s", run.status())
	}
	all, err := living(t.mark)
	if err == nil && len(all) > 0 {
		return broken("%d processes are left after an ordered stop, one is %v", len(all), all[0])
	}
	return err
}

// readBack judges one stream as `logs` prints it.
func (t *tempest) readBack(ctx context.Context, s service, p printed) (lines int, err error) {
	call, err := t.call("logs.out", "", "logs", s.name, "--stream="+p.stream, "-n=1000000000")
	if err != nil {
		return 0, err
	}
	if !call.ended(ctx, patience) || !call.ProcessState.Success() {
		return 0, broken("logs %s --stream=%s: %v", s.name, p.stream, call.ProcessState)
	}
	launches, err := t.place.launches(p.by)
	if err != nil {
		return 0, err
	}
	taken, err := t.place.taken(p.by)
	if err != nil {
		return 0, err
	}
	out, err := os.Open(t.place.file("logs.out"))
	if err != nil {
		return 0, err
	}
	defer out.Close() //nolint:errcheck // only read
	lines, rule, err := judgeLines(out, launches, taken, p.pad)
	if rule != "" {
		return lines, broken("std%s of %s: %s", p.stream, s.name, rule)
	}
	return lines, err
}

func broken(format string, args ...any) error { return &brokenError{fmt.Sprintf(format, args...)} }

func (t *tally) summary(lines, broken int) string {
	return fmt.Sprintf("%s kills, %d points x >= %d, %s services killed, %s orders, %s starts, %s lines, %d rules broken",
		thousands(t.kills), len(points), t.least(), thousands(t.services), thousands(t.orders), thousands(t.starts), thousands(lines), broken)
}

// thousands writes a number as people read it.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, parts...), ",")
}
