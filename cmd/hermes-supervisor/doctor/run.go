package doctor

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Status is how a thing stands.
type Status string

// The three answers. A Warning costs something or will; of a Problem something does not work.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Problem Status = "problem"
)

// Finding is one line of the report.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Text   string `json:"text"`
	// Remedy is the command that mends it, for a shell; "" where Status is OK.
	Remedy string `json:"remedy,omitempty"`
}

// Check looks at one thing. It gives at least one finding, and no OK beside another.
type Check struct {
	Name  string
	Limit time.Duration // how long Look may take; 0: the default
	Look  func(ctx context.Context, e Env) []Finding
}

const (
	defaultLimit = 10 * time.Second
	// slowAfter is when a person begins to wonder.
	slowAfter = 2 * time.Second
)

// Run makes all checks at once and gives their findings in the order of the checks. One that does not answer in time is
// left behind, and is a finding itself. slow, if not nil, is called once with the names of those that are still looking
// after two seconds.
func Run(ctx context.Context, e Env, checks []Check, slow func(names []string)) []Finding {
	found := make([][]Finding, len(checks))
	var mu sync.Mutex
	open := make([]bool, len(checks))
	for i := range checks {
		open[i] = true
	}
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() {
			f := c.look(ctx, e)
			mu.Lock()
			defer mu.Unlock()
			found[i] = f
			open[i] = false
		})
	}
	if slow != nil {
		timer := time.AfterFunc(slowAfter, func() {
			mu.Lock()
			defer mu.Unlock()
			var names []string
			for i, c := range checks {
				if open[i] {
					names = append(names, c.Name)
				}
			}
			if len(names) > 0 {
				slow(names)
			}
		})
		defer timer.Stop()
	}
	all.Wait()
	var report []Finding
	for i, fs := range found {
		for _, f := range fs {
			f.Check, f.Text, f.Remedy = checks[i].Name, printable(f.Text), printable(f.Remedy)
			report = append(report, f)
		}
	}
	return report
}

// look bounds a check that may hang in the kernel (a network file system that does not answer), where no context reaches.
func (c Check) look(ctx context.Context, e Env) []Finding {
	limit := c.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer := make(chan []Finding, 1)
	go func() { answer <- c.Look(ctx, e) }()
	select {
	case found := <-answer:
		return found
	case <-ctx.Done():
	}
	select { // both are there when a check ends by its own context
	case found := <-answer:
		return found
	case <-time.After(grace):
		return []Finding{problem(fmt.Sprintf("no answer within %s: a file system or a program hangs", limit), "mount | tail -n 40")}
	}
}

// grace is what a check gets that was cut by its context, to say what it knows.
const grace = 200 * time.Millisecond

// Worst is the worst status of a report.
func Worst(report []Finding) Status {
	worst := OK
	for _, f := range report {
		switch f.Status {
		case Problem:
			return Problem
		case Warning:
			worst = Warning
		case OK:
		}
	}
	return worst
}

func ok(format string, args ...any) []Finding {
	return []Finding{{Status: OK, Text: fmt.Sprintf(format, args...)}}
}

func problem(text, remedy string) Finding {
	return Finding{Status: Problem, Text: text, Remedy: remedy}
}

func warning(text, remedy string) Finding {
	return Finding{Status: Warning, Text: text, Remedy: remedy}
}

// orOK is what was found, or that there was nothing.
func orOK(found []Finding, format string, args ...any) []Finding {
	if len(found) > 0 {
		return found
	}
	return ok(format, args...)
}

// most is how many lines one check says of one kind; the rest is counted.
const most = 5

// bounded cuts a list of findings that may be as long as a folder.
func bounded(found []Finding) []Finding {
	if len(found) <= most {
		return found
	}
	last := found[most-1]
	rest := len(found) - most + 1
	found = append([]Finding{}, found[:most]...)
	found[most-1] = Finding{Status: last.Status, Text: fmt.Sprintf("%s (and %d more of this kind)", last.Text, rest-1), Remedy: last.Remedy}
	return found
}

// printable keeps what a file or a program says from moving the cursor or breaking the line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
