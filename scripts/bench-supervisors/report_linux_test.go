package main

import (
	"strings"
	"testing"
	"time"
)

func TestQuantileIsTheMiddleAndTheWorst(t *testing.T) {
	t.Parallel()
	all := []time.Duration{9, 1, 5, 3, 7}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 5, 0.9: 9, 1: 9} {
		if got := quantile(all, q); got != want {
			t.Errorf("quantile(%v, %v) = %d, want %d", all, q, got, want)
		}
	}
}

func TestEachBoundIsJudged(t *testing.T) {
	t.Parallel()
	good := func() *bench {
		e := allEntrants()
		for i, took := range []time.Duration{2e6, 1e6, 3e6, 3e6, 3e6, 3e6, 9e9} {
			e[i].restarts = []time.Duration{took}
		}
		e[0].idle = &cost{pss: 7000, threads: 10, cpu: time.Millisecond}
		few, many := crowd{services: 100, cost: cost{pss: 7000, switches: 4}}, crowd{services: 1000, cost: cost{pss: 70_000, switches: 40}}
		storms := []storm{{entrant: e[2], starts: 60}, {entrant: e[0], starts: 8, cpu: time.Millisecond, output: 8 * int64(len(lastLine)+1), journal: 5000}}
		growth := []holdings{{1000, 14, 9, 6000, 5}, {10_000, 14, 10, 6500, 5}}
		return &bench{options: options{services: 100, storm: time.Minute}, entrants: e, report: report{crowds: []crowd{few, many}, storms: storms, growth: growth}}
	}
	for name, spoil := range map[string]func(*bench){
		"":                       func(*bench) {},
		"of runit":               func(b *bench) { b.entrants[2].restarts[0] = time.Millisecond },
		"of s6, run is a script": func(b *bench) { b.entrants[5].restarts[0] = time.Millisecond },
		"of memory":              func(b *bench) { b.entrants[0].idle.pss = 9000 },
		"threads":                func(b *bench) { b.entrants[0].idle.threads = 20 },
		"of CPU":                 func(b *bench) { b.entrants[0].idle.cpu = 5 * time.Millisecond },
		"x the memory":           func(b *bench) { b.report.crowds[1].cost.pss = 90_000 },
		"x the context switches": func(b *bench) { b.report.crowds[1].cost.switches = 49 },
		"9 starts":               func(b *bench) { s := &b.report.storms[1]; s.starts, s.output = 9, s.output/8*9 },
		"1 starts":               func(b *bench) { s := &b.report.storms[1]; s.starts, s.output = 1, s.output/8 },
		"storm: 900.00 ms":       func(b *bench) { b.report.storms[1].cpu = 900 * time.Millisecond },
		"bytes of output":        func(b *bench) { b.report.storms[1].output-- },
		"bytes of our records":   func(b *bench) { b.report.storms[1].journal = 1 << 20 },
		"15 open files":          func(b *bench) { b.report.growth[1].descriptors = 15 },
		"6 files in run/":        func(b *bench) { b.report.growth[1].files = 6 },
		"restarts: 20 threads":   func(b *bench) { b.report.growth[1].threads = 20 },
		"within 10 %":            func(b *bench) { b.report.growth[1].pss = 6601 },
	} {
		b := good()
		spoil(b)
		var out strings.Builder
		b.report.writeBounds(&out, b)
		var broken []string
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "DOES NOT HOLD") {
				broken = append(broken, line)
			}
		}
		if name == "" && len(broken) != 0 || name != "" && (len(broken) != 1 || !strings.Contains(broken[0], name)) {
			t.Errorf("%q broken, but what does not hold is %q", name, broken)
		}
	}
}

func TestMostStartsOfAStormAreThoseOfItsDelays(t *testing.T) {
	t.Parallel()
	for within, want := range map[time.Duration]int{
		time.Second: 3, 20 * time.Second: 7, time.Minute: 8, 10 * time.Minute: 13, // 0, 0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 63.5, 127.5, 255.5, 405.5, 555.5, 705.5
	} {
		if got := mostStarts(within); got != want {
			t.Errorf("%s has %d starts, want %d", within, got, want)
		}
	}
}
