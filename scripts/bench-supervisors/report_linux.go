package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report is what has been found beside the figures of the entrants.
type report struct {
	fsync  time.Duration
	load   string // when the run began
	crowds []crowd
	storms []storm
	growth []holdings // after a tenth of the restarts, and after all
}

// The bounds that the project has set itself.
const (
	maxPSS     = 8 * 1024 // kB, of 100 idle services
	maxThreads = 20
	maxCPU     = 5 * time.Millisecond // in 30 s
	maxCrowd   = 12.0                 // 1,000 services beside 100
)

// write writes the tables of the README, and which bounds hold.
func (r *report) write(w io.Writer, b *bench) {
	fmt.Fprintf(w, "\n%d cores, load %s at the start and %s at the end; fsync of a new 2 KB file: %s.\n\n", runtime.NumCPU(), r.load, loadAverage(), ms(r.fsync))
	r.writeTable(w, b)
	r.writeCrowds(w)
	r.writeStorms(w, b)
	r.writeGrowth(w, b)
	fmt.Fprintln(w)
	r.writeBounds(w, b)
}

func (r *report) writeTable(w io.Writer, b *bench) {
	if !slices.ContainsFunc(b.entrants, func(e *entrant) bool { return len(e.restarts) > 0 || e.idle != nil }) {
		return
	}
	row(w, "supervisor", fmt.Sprintf("killed to started again: median of %d, p90", b.rounds), "beside ours",
		fmt.Sprintf("memory of %d idle services (PSS)", b.services), "processes", "threads",
		fmt.Sprintf("CPU in %s", b.idle), "context switches")
	row(w, "---", "---:", "---:", "---:", "---:", "---:", "---:", "---:")
	own := b.entrants[0].restarts
	for _, e := range b.entrants {
		cells := []string{strings.TrimSpace(e.name+" "+e.version) + e.how, "", "", "", "", "", "", ""}
		if e.name == ours {
			cells[0] = "**" + ours + "**"
		}
		if len(e.restarts) > 0 {
			cells[1] = ms(quantile(e.restarts, 0.5)) + ", " + ms(quantile(e.restarts, 0.9))
			cells[2] = times(float64(quantile(e.restarts, 0.5)), float64(quantile(own, 0.5)))
		}
		if c := e.idle; c != nil {
			copy(cells[3:], []string{mb(c.pss), strconv.Itoa(c.processes), strconv.Itoa(c.threads), ms(c.cpu), strconv.Itoa(c.switches)})
		}
		row(w, cells...)
	}
}

func (r *report) writeCrowds(w io.Writer) {
	if len(r.crowds) == 0 {
		return
	}
	few, many := r.crowds[0], r.crowds[1]
	fmt.Fprintln(w)
	row(w, ours, fmt.Sprintf("%d services", few.services), fmt.Sprintf("%d services", many.services), "times")
	row(w, "---", "---:", "---:", "---:")
	line := func(what string, text func(crowd) string, figure func(crowd) float64) {
		row(w, what, text(few), text(many), times(figure(many), figure(few)))
	}
	line("all started", func(c crowd) string { return ms(c.start) }, func(c crowd) float64 { return float64(c.start) })
	line("all killed, all back", func(c crowd) string { return ms(c.back) }, func(c crowd) float64 { return float64(c.back) })
	line("memory (PSS)", func(c crowd) string { return mb(c.cost.pss) }, func(c crowd) float64 { return float64(c.cost.pss) })
	line("threads", func(c crowd) string { return strconv.Itoa(c.cost.threads) }, func(c crowd) float64 { return float64(c.cost.threads) })
	line("CPU while idle", func(c crowd) string { return ms(c.cost.cpu) }, func(c crowd) float64 { return float64(c.cost.cpu) })
	line("context switches while idle", func(c crowd) string { return strconv.Itoa(c.cost.switches) }, wakeups)
}

func wakeups(c crowd) float64 { return float64(max(c.cost.switches, 1)) }

// writeBounds says of each bound that was measured whether it holds.
func (r *report) writeBounds(w io.Writer, b *bench) {
	bound := func(holds bool, format string, args ...any) {
		verdict := "holds:         "
		if !holds {
			verdict = "DOES NOT HOLD: "
		}
		fmt.Fprintln(w, verdict+fmt.Sprintf(format, args...))
	}
	self := b.entrants[0]
	for _, e := range b.entrants {
		if len(e.restarts) > 0 && (e.pack == "runit" || e.pack == "s6") {
			mine, theirs := quantile(self.restarts, 0.5), quantile(e.restarts, 0.5)
			bound(mine < theirs, "restart: %s, below %s of %s", ms(mine), ms(theirs), e)
		}
	}
	if c := self.idle; c != nil {
		bound(c.pss < maxPSS, "%d idle services: %s of memory, below %s", b.services, mb(c.pss), mb(maxPSS))
		bound(c.threads < maxThreads, "%d idle services: %d threads, below %d", b.services, c.threads, maxThreads)
		bound(c.cpu < maxCPU, "%d idle services: %s of CPU in %s, below %s", b.services, ms(c.cpu), b.idle, ms(maxCPU))
	}
	if len(r.crowds) > 0 {
		few, many := r.crowds[0], r.crowds[1]
		memory, wakes := float64(many.cost.pss)/float64(few.cost.pss), wakeups(many)/wakeups(few)
		bound(memory <= maxCrowd, "%d services: %.1fx the memory of %d, at most %.0fx", many.services, memory, few.services, maxCrowd)
		bound(wakes <= maxCrowd, "%d services: %.1fx the context switches of %d, at most %.0fx", many.services, wakes, few.services, maxCrowd)
	}
	r.judgeStorm(bound, b)
	r.judgeGrowth(bound, b)
}

func row(w io.Writer, cells ...string) {
	fmt.Fprintln(w, "| "+strings.Join(cells, " | ")+" |")
}

// quantile is the value below which the part q of all lies.
func quantile(all []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

func mb(kB int) string { return fmt.Sprintf("%.1f MB", float64(kB)/1024) }

func times(a, b float64) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2fx", a/b)
}
