package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"hermes-supervisor/scripts/bench"
	"hermes-supervisor/supervise/turn"
)

// pairsARound is how many begin+end pairs one timed round does.
const pairsARound = 20

// fsync is what one durable step costs here: a 2 KB file written, synced and renamed, and its folder synced.
func (b *turns) fsync(context.Context) error {
	path := filepath.Join(b.Dir, "sync")
	medians, err := b.Interleave(func() error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		_, err = f.Write(make([]byte, 2048))
		return errors.Join(err, f.Sync(), f.Close())
	})
	if err == nil {
		b.Row("fsync of a new 2 KB file", bench.Ms(medians[0]), "")
	}
	return err
}

// beginEnd is a durable begin+end pair beside 1, 1,000 and 10,000 open turns.
func (b *turns) beginEnd(ctx context.Context) error {
	counts := []int{1, 1000, 10000}
	rounds := make([]func() error, 0, len(counts))
	for _, n := range counts {
		home, err := b.home(fmt.Sprintf("open-%d", n), n)
		if err != nil {
			return err
		}
		room, err := openRoom(home)
		if err != nil {
			return err
		}
		defer room.Store.Close() //nolint:errcheck // a directory handle
		rounds = append(rounds, func() error { return reportPairs(ctx, room, "bench", os.Getppid(), pairsARound) })
	}
	medians, err := b.Interleave(rounds...)
	if err != nil {
		return err
	}
	for i, n := range counts {
		what, figure := fmt.Sprintf("begin+end pair beside %d open turns", n), bench.Ms(medians[i]/pairsARound)
		ratio := float64(medians[i]) / float64(medians[0])
		beside := fmt.Sprintf("%.2fx of 1 open turn", ratio)
		if i == len(counts)-1 {
			b.Held(what, figure, beside, "at most 1.3x", ratio <= 1.3)
		} else {
			b.Row(what, figure, beside)
		}
	}
	return nil
}

// reportPairs begins and ends turns of one session, as an agent's hooks do.
func reportPairs(ctx context.Context, room *turn.Room, session string, owner, n int) error {
	for range n {
		if _, err := room.Begin(ctx, turn.Report{Session: session, PID: owner, Prompt: "a prompt"}); err != nil {
			return err
		}
		if _, err := room.End(ctx, session); err != nil {
			return err
		}
	}
	return nil
}

const (
	roleVar   = "BENCH_TURNS_ROLE"
	homeVar   = "BENCH_TURNS_HOME"
	numberVar = "BENCH_TURNS_NUMBER"
	rateEach  = 200 // pairs that each process of the rate does
	rateCount = 8
)

// play is this program as one of the processes of a measurement.
func play(role string) int {
	if role != "reporter" {
		return 2
	}
	room, err := openRoom(os.Getenv(homeVar))
	if err == nil {
		err = reportPairs(context.Background(), room, "reporter-"+os.Getenv(numberVar), os.Getppid(), rateEach)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "reporter: %v\n", err)
		return 1
	}
	return 0
}

// rate is how many pairs eight processes do together.
func (b *turns) rate(ctx context.Context) error {
	home, err := b.home("rate", 100)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var best time.Duration
	for range 3 {
		began := time.Now()
		var running []*exec.Cmd
		for i := range rateCount {
			cmd := exec.CommandContext(ctx, self)
			cmd.Env = append(os.Environ(), roleVar+"=reporter", homeVar+"="+home, numberVar+"="+strconv.Itoa(i))
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				return err
			}
			running = append(running, cmd)
		}
		for _, cmd := range running {
			if err := cmd.Wait(); err != nil {
				return err
			}
		}
		if d := time.Since(began); best == 0 || d < best {
			best = d
		}
	}
	rate := rateCount * rateEach / best.Seconds()
	b.Held("begin+end pairs of 8 processes", fmt.Sprintf("%.0f/s", rate), "", "above 1,000/s where an fsync costs 0.2 ms", rate > 1000)
	return nil
}

// list is `turn list` of 10,000 open turns, as a whole process.
func (b *turns) list(ctx context.Context) error {
	home, err := b.home("open-10000", 0)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(home, "supervisor", "turns", "open-09999.json")); err != nil {
		if home, err = b.home("open-10000", 10000); err != nil {
			return err
		}
	}
	few := *b
	few.Pairs = min(b.Pairs, 5)
	medians, err := few.Interleave(func() error { return few.Command(ctx, home, "turn", "list", "--json").Run() }, func() error { return few.Command(ctx, few.Dir, "exit-codes").Run() })
	if err == nil {
		b.Held("turn list of 10,000 open turns", bench.Ms(medians[0]), "a command that reads nothing: "+bench.Ms(medians[1]), "below 1 s", medians[0] < time.Second)
	}
	return err
}
