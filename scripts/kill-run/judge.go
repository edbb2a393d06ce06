//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"hermes-supervisor/supervise/service/childtest"
)

// A launch is one line of a log: a process that has begun, alone or not.
type launch struct {
	pid     int
	overlap bool
}

// readLaunches reads a log. Each of its lines was one small write, so none is torn but the last.
func readLaunches(text string) (all []launch, err error) {
	whole := text[:strings.LastIndexByte(text, '\n')+1]
	for line := range strings.Lines(whole) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "start" && f[0] != "overlap" {
			return nil, fmt.Errorf("read launches: line %q", line)
		}
		pid, err := strconv.Atoi(f[1])
		if err != nil {
			return nil, fmt.Errorf("read launches: line %q: %w", line, err)
		}
		all = append(all, launch{pid, f[0] == "overlap"})
	}
	return all, nil
}

// judgeCopies says which launch was not alone, "" for none.
func judgeCopies(log string, all []launch) (rule string) {
	for i, l := range all {
		if l.overlap {
			return fmt.Sprintf("two copies of %s: launch %d, pid %d, has begun while something of an earlier one lives", log, i+1, l.pid)
		}
	}
	return ""
}

// judgeInstances looks at what lives while nobody launches anything: of each service one launch at most.
func judgeInstances(living []process) (rule string) {
	first := map[string]process{}
	for _, p := range living {
		switch f, seen := first[p.service]; {
		case p.service == "": // a launch on its way, whose environment is still that of run
		case !seen:
			first[p.service] = p
		case f.instance != p.instance:
			return fmt.Sprintf("two launches of %s live: %v, and %v", p.service, f, p)
		}
	}
	return ""
}

// What a service should do.
const (
	up     = "up"
	down   = "down"
	either = "either" // an order was under way when run was killed, and nobody was told
)

// A wish is what was ordered last.
type wish struct {
	want     string
	launches int // of a restart: there must be more than these
}

// judgeWish says what a service under a new run lacks of its wish, "" for nothing. Launches are those of its log, and
// began is how many of them there were when that run, pid, was started.
func judgeWish(s service, w wish, rec record, pid int, living []process, launches []launch, began int) (lack string) {
	living = slices.DeleteFunc(slices.Clone(living), func(p process) bool { return p.service != s.name })
	switch {
	case rec.Supervisor.PID != pid:
		return "is not run"
	case w.want == either:
		return ""
	case w.want == down && (rec.State.Phase != "stopped" || rec.State.Up):
		return fmt.Sprintf("is %s (up: %t) and was ordered to stop", rec.State.Phase, rec.State.Up)
	case w.want == down && len(living) > 0:
		return fmt.Sprintf("is stopped, and something of it lives: %v", living[0])
	case w.want == down:
		return ""
	case !rec.State.Up:
		return "was ordered to be up, and the record has it down"
	case w.launches > 0 && len(launches) <= w.launches:
		return "was ordered to restart, and was not"
	case s.restless && len(launches) <= began:
		return "is " + rec.State.Phase + " and has not been started again"
	case s.restless:
		return ""
	case rec.State.Phase != "running" || len(launches) == 0:
		return "is " + rec.State.Phase
	case !slices.ContainsFunc(living, func(p process) bool { return p.pid == launches[len(launches)-1].pid }):
		return "is said to run, and its own process is dead"
	}
	for _, p := range living {
		if p.instance != rec.Process.Instance {
			return fmt.Sprintf("has something of an older launch beside %.8s: %v", rec.Process.Instance, p)
		}
	}
	return ""
}

// judgeLines holds a stream against its launches and the last number that was taken: every line once, in order, none
// missing. A launch may have taken one number, its last, whose line it did not come to write, or not to its end.
func judgeLines(r io.Reader, launches []launch, taken, pad int) (lines int, rule string, err error) {
	padding := childtest.Padding(pad)
	in := bufio.NewReaderSize(r, 64<<10)
	number, at := 0, 0 // of the last line, and the index of the launch that it is of
	for {
		text, err := in.ReadString('\n')
		text, whole := strings.CutSuffix(text, "\n")
		if err != nil && !errors.Is(err, io.EOF) {
			return lines, "", err
		}
		if !whole {
			if text != "" && !torn(text, number, taken+1, launches[at:], padding) {
				return lines, fmt.Sprintf("it ends with %.60q, after line %d", text, number), nil
			}
			break
		}
		begin := max(strings.LastIndex(text, "line "), 0)
		var n, pid int
		_, _ = fmt.Sscanf(text[begin:], "line %d %d", &n, &pid) // compared as a whole
		if text[begin:] != childtest.Line(n, pid, padding) {
			return lines, fmt.Sprintf("%.60q after line %d is no line that was written", text, number), nil
		}
		next := at + slices.IndexFunc(launches[at:], func(l launch) bool { return l.pid == pid })
		switch missing := n - number - 1; {
		case n <= number:
			return lines, fmt.Sprintf("line %d of pid %d comes after line %d: twice, or out of order", n, pid, number), nil
		case next < at:
			return lines, fmt.Sprintf("line %d is of pid %d, which was no launch after that of line %d", n, pid, number), nil
		case missing > next-at:
			return lines, fmt.Sprintf("%d lines are missing between %d and %d, with %d launches ended there", missing, number, n, next-at), nil
		case begin > 0 && !torn(text[:begin], number, n, launches[at:next], padding):
			return lines, fmt.Sprintf("%.60q after line %d is no line that was written", text, number), nil
		}
		number, at = n, next
		lines++
	}
	if missing := taken - number; missing > len(launches)-at {
		return lines, fmt.Sprintf("%d lines are missing at the end: %d was taken, %d is the last, with %d launches ended there", missing, taken, number, len(launches)-at), nil
	}
	return lines, "", nil
}

// torn tells whether text is the beginning of a line that one of these launches was killed in: of a number above from
// and below to.
func torn(text string, from, to int, launches []launch, padding string) bool {
	for n := from + 1; n < to; n++ {
		if slices.ContainsFunc(launches, func(l launch) bool { return strings.HasPrefix(childtest.Line(n, l.pid, padding), text) }) {
			return true
		}
	}
	return false
}
