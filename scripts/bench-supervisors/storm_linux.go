package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// storm is what a supervisor made of a service that exits at once.
type storm struct {
	entrant *entrant
	starts  int
	cpu     time.Duration // of the supervisor, from the first start on
	output  int64         // bytes of what the service has printed, as kept
	journal int64         // bytes of what we have noted: journal, record, and what run has printed
}

// stormy has ours, runit and s6 keep up a service that exits at once, all at the same time: none of them has much to do.
// Nor does what is counted change with the load, so that the many restarts are made meanwhile.
func (b *bench) stormy(ctx context.Context) (err error) {
	var trials []*trial
	defer func() {
		for _, t := range trials {
			err = errors.Join(err, t.end())
		}
	}()
	var began time.Duration
	var storms []storm
	for _, e := range b.entrants {
		if e.only || e.name != ours && e.pack != "runit" && e.pack != "s6" {
			continue
		}
		failing := *e
		failing.env = []string{exitVar + "=1"}
		if e.name == ours {
			failing.lay = layOurs("") // the defaults
		}
		b.say("storm: starting %s", e)
		began = now()
		t, _, err := b.start(ctx, &failing, 1)
		if err != nil {
			return err
		}
		trials = append(trials, t)
		cost, err := costOf([]int{t.cmd.Process.Pid})
		if err != nil {
			return err
		}
		storms = append(storms, storm{entrant: e, cpu: cost.cpu, starts: 1})
	}
	b.say("storm: for %s", b.storm)
	if b.only.MatchString(restartsName) {
		if err := b.manyRestarts(ctx); err != nil {
			return err
		}
	}
	if err := pause(ctx, began+b.storm-now()); err != nil {
		return err
	}
	for i, t := range trials {
		s := &storms[i]
		first := t.up[0].at
		more, err := t.startsUntil(first + b.storm)
		if err != nil {
			return err
		}
		s.starts += more
		cost, err := costOf([]int{t.cmd.Process.Pid})
		if err != nil {
			return err
		}
		s.cpu = max(cost.cpu-s.cpu, 0)
		if t.name == ours {
			if err := s.weigh(t.dir); err != nil {
				return err
			}
		}
	}
	b.report.storms = storms
	return nil
}

// startsUntil counts the starts that have not been awaited, up to that time. A FIFO holds 4,096 of them.
func (t *trial) startsUntil(at time.Duration) (starts int, err error) {
	if err := t.stamps.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return 0, err
	}
	for {
		var raw [stampSize]byte
		_, err := io.ReadFull(t.stamps, raw[:])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return starts, nil
		}
		if err != nil {
			return starts, err
		}
		if time.Duration(binary.NativeEndian.Uint64(raw[8:])) < at { //nolint:gosec // nanoseconds since the boot
			starts++
		}
	}
}

// weigh adds up what is on disk because of the storm.
func (s *storm) weigh(dir string) (err error) {
	kept := filepath.Join(dir, "home", "supervisor")
	if s.output, err = bytesBelow(filepath.Join(kept, "log")); err != nil {
		return err
	}
	for _, part := range []string{filepath.Join(kept, "journal.jsonl"), filepath.Join(kept, "services"), filepath.Join(dir, "log")} {
		n, err := bytesBelow(part)
		if err != nil {
			return err
		}
		s.journal += n
	}
	return nil
}

// bytesBelow is the size of a file, or of all files below a folder.
func bytesBelow(path string) (total int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// The bounds of a storm. Starts: the first restart is at once, then each delay is at least half of 1 s, 2 s, 4 s, …, 5 min,
// and never are there more than 10 restarts in a minute, so that a minute has 8 starts. CPU: what idleness may take, and
// for each start 20 ms: a fork with its records costs 2 to 4 ms, and giving memory back, once it is quiet again, 10 to 15.
// Both together are 0.3 % of a processor. Bytes: what the service has printed, once; and for each start 2 KiB of our own,
// twice what three lines for people, one or two in the journal and the part in the record take.
const (
	cpuPerStart   = 20 * time.Millisecond
	bytesPerStart = 2048
)

// mostStarts is how many starts the default settings allow in that time.
func mostStarts(within time.Duration) int {
	starts := 2
	for at, delay := time.Duration(0), time.Second; ; delay = min(2*delay, 5*time.Minute) {
		if at += delay / 2; at >= within {
			break
		}
		starts++
	}
	minutes := int((within + time.Minute - 1) / time.Minute)
	return min(starts, 1+10*minutes)
}

func (r *report) writeStorms(w io.Writer, b *bench) {
	if len(r.storms) == 0 {
		return
	}
	fmt.Fprintln(w)
	row(w, "a service that exits at once", fmt.Sprintf("starts in %s", b.storm), "CPU", "its output", "our records of it")
	row(w, "---", "---:", "---:", "---:", "---:")
	for _, s := range r.storms {
		cells := []string{s.entrant.String(), strconv.Itoa(s.starts), "", "", ""}
		if s.entrant.name == ours {
			cells[2], cells[3], cells[4] = ms(s.cpu), fmt.Sprintf("%d B", s.output), fmt.Sprintf("%d B", s.journal)
		}
		row(w, cells...)
	}
}

func (r *report) judgeStorm(bound func(bool, string, ...any), b *bench) {
	for _, s := range r.storms {
		if s.entrant.name != ours {
			continue
		}
		most := mostStarts(b.storm)
		idle := maxCPU * max(b.storm/(30*time.Second), 1) //nolint:durationcheck // so many times
		cpu := idle + time.Duration(most)*cpuPerStart
		printed, noted := int64(s.starts*(len(lastLine)+1)), int64(most*bytesPerStart)
		bound(s.starts <= most && s.starts > 1, "storm: %d starts in %s, at least 2 and at most %d", s.starts, b.storm, most)
		bound(s.cpu < cpu, "storm: %s of CPU in %s, below %s", ms(s.cpu), b.storm, ms(cpu))
		bound(s.output == printed, "storm: %d bytes of output kept, %d printed", s.output, printed)
		bound(s.journal < noted, "storm: %d bytes of our records, below %d", s.journal, noted)
	}
}
