package main

import (
	"fmt"
	"strings"
)

// A verdict is how a case ended.
const (
	pass    = "PASS"
	fail    = "FAIL"
	skipped = "SKIPPED"
)

// findings collects what a case observed, in order.
type findings struct {
	seen     []string
	wrong    []string
	skip     string // why the case cannot be run here
	evidence string // indented lines, for a case that failed
}

// expect notes what was observed; where that is not right, with what was expected instead.
func (f *findings) expect(right bool, expected, format string, args ...any) {
	observed := fmt.Sprintf(format, args...)
	if right {
		f.seen = append(f.seen, observed)
		return
	}
	f.wrong = append(f.wrong, fmt.Sprintf("%s (expected: %s)", observed, expected))
}

func (f *findings) verdict() string {
	switch {
	case len(f.wrong) > 0:
		return fail
	case f.skip != "":
		return skipped
	default:
		return pass
	}
}

// summary is one line: what was wrong first, then what was seen.
func (f *findings) summary() string {
	switch f.verdict() {
	case fail:
		return strings.Join(append([]string{"WRONG: " + strings.Join(f.wrong, "; ")}, f.seen...), "; ")
	case skipped:
		return f.skip
	default:
		return strings.Join(f.seen, "; ")
	}
}
