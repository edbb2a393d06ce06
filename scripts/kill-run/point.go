//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
)

// Environment of a program built with -tags faultpoints (package fault).
const (
	faultVar    = "HERMES_SUPERVISOR_FAULT"
	faultLogVar = "HERMES_SUPERVISOR_FAULT_LOG"
)

// A point is a moment at which run may be killed, and up to how many passages before the one that kills. A start of run
// passes the points of a write some 20 times, and then for every launch.
type point struct {
	name  string
	depth int
}

// points are all that run passes as it keeps services up; a test holds them against the source.
var points = []point{
	{"service.fork", 4},
	{"service.record", 4},
	{"witness.rename", 10},
	{"witness.durable", 10},
	{"write.temp", 40},
	{"write.rename", 40},
	{"write.sync-folder", 40},
	{"write.durable", 40},
}

// A tally is what was done so far.
type tally struct {
	kills, services, starts, orders int
	hits                            map[string]int // kills at each fault point
}

// choose draws a fault point among those that were hit the least, and the passage that kills.
func (t *tally) choose(r *rand.Rand) (name, fault string) {
	var least []point
	for _, p := range points {
		switch {
		case len(least) == 0 || t.hits[p.name] < t.hits[least[0].name]:
			least = []point{p}
		case t.hits[p.name] == t.hits[least[0].name]:
			least = append(least, p)
		}
	}
	p := least[r.IntN(len(least))]
	return p.name, fmt.Sprintf("%s:kill:%d", p.name, 1+r.IntN(p.depth))
}

// least is how often the point was hit that was hit the least.
func (t *tally) least() int {
	n := t.hits[points[0].name]
	for _, p := range points {
		n = min(n, t.hits[p.name])
	}
	return n
}

func (t *tally) progress(kills int) string {
	return fmt.Sprintf("%d of %d kills, %d points x >= %d, %d services killed, %d orders carried out", t.kills, kills, len(points), t.least(), t.services, t.orders)
}
