package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// holdings are what a supervisor at rest has.
type holdings struct {
	restarts    int
	descriptors int
	threads     int
	pss         int // kB
	files       int // in the home's folder run/
}

const restartsName = "restarts"

// endless has no delay, and a storm bound that a restart in a millisecond does not reach.
const endless = `delay = "0s"
storm_starts = 1000
storm_window = "1s"
`

// manyRestarts kills one service again and again, the moment that it is up; once in a run.
func (b *bench) manyRestarts(ctx context.Context) (err error) {
	if b.report.growth != nil {
		return nil
	}
	restless := *b.entrants[0]
	restless.lay = layOurs(endless)
	t, _, err := b.start(ctx, &restless, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	for n := 1; n <= b.restarts; n++ {
		if _, err := t.kill(ctx); err != nil {
			return err
		}
		if n != b.restarts/10 && n != b.restarts {
			continue
		}
		if err := pause(ctx, calm); err != nil {
			return err
		}
		h, err := t.holdings(n)
		if err != nil {
			return err
		}
		b.say("restarts: %+v", h)
		b.report.growth = append(b.report.growth, h)
	}
	return nil
}

func (t *trial) holdings(restarts int) (holdings, error) {
	pid := t.cmd.Process.Pid
	c, err := costOf([]int{pid})
	if err != nil {
		return holdings{}, err
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return holdings{}, err
	}
	files, err := os.ReadDir(filepath.Join(t.dir, "home", "supervisor", "run"))
	return holdings{restarts: restarts, descriptors: len(open), threads: c.threads, pss: c.pss, files: len(files)}, err
}

func (r *report) writeGrowth(w io.Writer, _ *bench) {
	if len(r.growth) != 2 {
		return
	}
	early, late := r.growth[0], r.growth[1]
	fmt.Fprintln(w)
	row(w, "one service, restarted again and again", fmt.Sprintf("%d times", early.restarts), fmt.Sprintf("%d times", late.restarts))
	row(w, "---", "---:", "---:")
	row(w, "open files", strconv.Itoa(early.descriptors), strconv.Itoa(late.descriptors))
	row(w, "threads", strconv.Itoa(early.threads), strconv.Itoa(late.threads))
	row(w, "memory (PSS)", mb(early.pss), mb(late.pss))
	row(w, "files in run/", strconv.Itoa(early.files), strconv.Itoa(late.files))
}

// judgeGrowth: both times nothing happens, so that what is open and what lies there has to be the same. The memory is that
// of a collected heap, but for how full its pages are.
func (r *report) judgeGrowth(bound func(bool, string, ...any), _ *bench) {
	if len(r.growth) != 2 {
		return
	}
	early, late := r.growth[0], r.growth[1]
	same := func(what string, before, after int) {
		bound(after <= before, "%d restarts: %d %s, no more than the %d after %d", late.restarts, after, what, before, early.restarts)
	}
	same("open files", early.descriptors, late.descriptors)
	same("files in run/", early.files, late.files)
	bound(late.threads < maxThreads, "%d restarts: %d threads, below %d", late.restarts, late.threads, maxThreads)
	bound(late.pss*10 <= early.pss*11, "%d restarts: %s of memory, within 10 %% of the %s after %d", late.restarts, mb(late.pss), mb(early.pss), early.restarts)
}
