//go:build linux

package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hermes-supervisor/fsstate/fault"
)

// How a prompt came to its end.
const (
	concluded   = "concluded"
	interrupted = "interrupted"
	givenUp     = "given up"
)

// A tally is what was done so far, by all workers.
type tally struct {
	mu      sync.Mutex
	kills   int
	stops   int
	hits    map[string]int // deaths and stops at each fault point
	planned map[string]int // calls under way that may hit it
	ends    map[string]int // prompts, by how they ended
	calls   int
}

func newTally() *tally {
	return &tally{hits: map[string]int{}, planned: map[string]int{}, ends: map[string]int{}}
}

func (t *tally) killed() { t.mu.Lock(); t.kills++; t.mu.Unlock() }

func (t *tally) stopped() { t.mu.Lock(); t.stops++; t.mu.Unlock() }

func (t *tally) called() { t.mu.Lock(); t.calls++; t.mu.Unlock() }

func (t *tally) ended(how string) { t.mu.Lock(); t.ends[how]++; t.mu.Unlock() }

// hit counts what a keeper has done to itself.
func (t *tally) hit(action, point string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hits[point]++
	if action == "kill" {
		t.kills++
	} else {
		t.stops++
	}
}

// choose draws one of the points that were hit the least, among those that suit, and notes that it is planned.
func (t *tally) choose(r *rand.Rand, suits func(point string) bool) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	points := slices.DeleteFunc(slices.Clone(fault.Points), func(p string) bool { return !suits(p) })
	slices.SortStableFunc(points, func(a, b string) int {
		return cmp.Compare(t.hits[a]+t.planned[a], t.hits[b]+t.planned[b])
	})
	point := points[r.IntN(min(4, len(points)))]
	t.planned[point]++
	return point
}

// over takes a plan back, hit or missed.
func (t *tally) over(point string) { t.mu.Lock(); t.planned[point]--; t.mu.Unlock() }

// least is the point that was hit the least.
func (t *tally) least() (point string, hits int) {
	for i, p := range fault.Points {
		if n := t.hits[p]; i == 0 || n < hits {
			point, hits = p, n
		}
	}
	return point, hits
}

// reached is how many were killed, and how often the fault point was hit that was hit the least.
func (t *tally) reached() (kills, least int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, least = t.least()
	return t.kills, least
}

func (t *tally) progress(kills int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	point, hits := t.least()
	return fmt.Sprintf("%d of %d kills, %d stops, %d prompts in %d calls, least hit %s x %d",
		t.kills, kills, t.stops, t.prompts(), t.calls, point, hits)
}

func (t *tally) prompts() int { return t.ends[concluded] + t.ends[interrupted] + t.ends[givenUp] }

func (t *tally) summary(broken int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, hits := t.least()
	return fmt.Sprintf("%s kills, %s stops, %d points x >= %d, %s prompts: %s concluded, %s interrupted, %s given up; %d rules broken",
		thousands(t.kills), thousands(t.stops), len(fault.Points), hits, thousands(t.prompts()), thousands(t.ends[concluded]),
		thousands(t.ends[interrupted]), thousands(t.ends[givenUp]), broken)
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
