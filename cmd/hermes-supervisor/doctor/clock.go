package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"hermes-supervisor/fsstate"
)

// born is before any build of this program: a clock that says less is that of a machine without a battery.
var born = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// skew is what two clocks of one network may differ by without anybody noticing.
const skew = 5 * time.Second

// lookAtClock compares the clock with what was written by it: a turn whose last sign of life lies ahead is not continued.
func lookAtClock(_ context.Context, e Env) []Finding {
	if e.Now.Before(born) {
		return []Finding{problem("the clock says "+e.Now.UTC().Format(time.RFC3339)+", which is before this program was made", setClock())}
	}
	var found []Finding
	if boot, known := bootTime(e.Proc); known && boot.After(e.Now.Add(skew)) {
		found = append(found, problem(fmt.Sprintf("the clock was set back by %s or more since this machine booted", boot.Sub(e.Now).Round(time.Second)), setClock()))
	}
	for _, p := range e.used() {
		if at := newestLine(p.Store); at.After(e.Now.Add(skew)) {
			found = append(found, problem(fmt.Sprintf("%sthe clock is %s behind the newest line of the journal", e.at(p), at.Sub(e.Now).Round(time.Second)), setClock()))
		}
		turns, _ := fsstate.TurnFiles{Store: p.Store}.All(fsstate.Turns) // what cannot be read is said by the check of the records
		for _, t := range turns {
			seen := t.LastSeen
			if t.StartedAt.After(seen) {
				seen = t.StartedAt
			}
			if seen.After(e.Now.Add(skew)) {
				found = append(found, problem(fmt.Sprintf("%sturn %s was last seen %s ahead of the clock, and is not continued until then", e.at(p), key(t.Session), seen.Sub(e.Now).Round(time.Second)), setClock()))
			}
		}
	}
	return orOK(bounded(found), "%s, and nothing that was written lies ahead of it", e.Now.UTC().Format(time.RFC3339))
}

// setClock is the command that sets the clock by the network.
func setClock() string {
	switch runtime.GOOS {
	case "darwin":
		return "sudo sntp -sS time.apple.com"
	case "windows":
		return "w32tm /resync"
	}
	return "sudo timedatectl set-ntp true"
}

// bootTime is when the kernel says that it booted, by the clock as it was then and has been slewed since (proc_stat(5)).
func bootTime(proc string) (time.Time, bool) {
	if proc == "" {
		return time.Time{}, false
	}
	data, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return time.Time{}, false
	}
	for line := range strings.Lines(string(data)) {
		if text, is := strings.CutPrefix(line, "btime "); is {
			seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			return time.Unix(seconds, 0), err == nil
		}
	}
	return time.Time{}, false
}

// newestLine is the time of the journal's last whole line; zero where there is none.
func newestLine(s *fsstate.Store) time.Time {
	events, err := s.LastEvents()
	if err != nil || len(events) == 0 {
		return time.Time{}
	}
	return events[len(events)-1].Time
}
