//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestLaunchesOfALog(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                    "",
		"start 1 10\nstart 2 20\n":            "",
		"start 1 10\noverlap 2 20\n":          "two copies of x: launch 2, pid 2",
		"start 1 10\nstart 2":                 "", // on its way
		"start 1 10\nstart 2 20\nbegin 3 3\n": "begin",
		"start one 10\n":                      "one",
	} {
		all, err := readLaunches(text)
		got := judgeCopies("x", all)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLinesAreThereOnceAndInOrder(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text     string
		launches []int
		taken    int
		pad      int
		want     string // the rule that is broken
	}{
		"nothing":                         {},
		"one launch":                      {text: "line 1 7\nline 2 7\n", launches: []int{7}, taken: 2},
		"padded":                          {text: "line 1 7 ..\n", launches: []int{7}, taken: 1, pad: 2},
		"with other padding":              {text: "line 1 7 ..\n", launches: []int{7}, taken: 1, pad: 3, want: "no line that was written"},
		"two launches":                    {text: "line 1 7\nline 2 8\n", launches: []int{7, 8}, taken: 2},
		"a number comes back":             {text: "line 1 7\nline 2 7\nline 3 7\n", launches: []int{7, 8, 7}, taken: 3},
		"the last of a killed one":        {text: "line 1 7\nline 3 8\n", launches: []int{7, 8}, taken: 3},
		"the last of three":               {text: "line 1 7\nline 5 10\n", launches: []int{7, 8, 9, 10}, taken: 5},
		"the only one of the first":       {text: "line 2 8\n", launches: []int{7, 8}, taken: 2},
		"one that printed nothing":        {text: "line 1 7\nline 2 9\n", launches: []int{7, 8, 9}, taken: 2},
		"the very last":                   {text: "line 1 7\n", launches: []int{7}, taken: 2},
		"torn at the end":                 {text: "line 1 7\nlin", launches: []int{7}, taken: 2},
		"torn at the end, never taken":    {text: "line 1 7\nlin", launches: []int{7}, taken: 1, want: "it ends with"},
		"torn by a kill":                  {text: "line 1 7\nline 2line 3 8\n", launches: []int{7, 8}, taken: 3},
		"all but the end of its line":     {text: "line 1 7\nline 2 7line 3 8\n", launches: []int{7, 8}, taken: 3},
		"torn with padding":               {text: "line 1 7 ..\nline 2 7 .line 3 8 ..\n", launches: []int{7, 8}, taken: 3, pad: 2},
		"torn within a launch":            {text: "line 1 7\nline 2line 3 7\n", launches: []int{7}, taken: 3, want: "1 lines are missing"},
		"what nobody wrote before a line": {text: "line 1 7\nxline 2 8\n", launches: []int{7, 8}, taken: 2, want: "no line that was written"},
		"twice":                           {text: "line 1 7\nline 1 7\n", launches: []int{7}, taken: 1, want: "twice"},
		"twice, over a restart":           {text: "line 1 7\nline 2 7\nline 2 8\n", launches: []int{7, 8}, taken: 2, want: "twice"},
		"out of order":                    {text: "line 2 7\nline 1 7\n", launches: []int{6, 7}, taken: 2, want: "out of order"},
		"missing within a launch":         {text: "line 1 7\nline 3 7\n", launches: []int{7}, taken: 3, want: "1 lines are missing between 1 and 3, with 0 launches"},
		"missing at the beginning":        {text: "line 2 7\n", launches: []int{7}, taken: 2, want: "missing between 0 and 2"},
		"two missing where one can be":    {text: "line 1 7\nline 4 8\n", launches: []int{7, 8}, taken: 4, want: "2 lines are missing"},
		"missing at the end":              {text: "line 1 7\n", launches: []int{7}, taken: 3, want: "2 lines are missing at the end"},
		"everything is missing":           {launches: []int{7}, taken: 2, want: "2 lines are missing at the end"},
		"of a launch that was before":     {text: "line 1 8\nline 2 7\n", launches: []int{7, 8}, taken: 2, want: "which was no launch"},
		"of nobody":                       {text: "line 1 9\n", launches: []int{7}, taken: 1, want: "which was no launch"},
		"a hole":                          {text: "line 1 7\n\x00\x00\x00\nline 2 7\n", launches: []int{7}, taken: 2, want: "no line that was written"},
		"a hole before a line":            {text: "line 1 7\n\x00\x00line 2 7\n", launches: []int{7}, taken: 2, want: "no line that was written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var launches []launch
			for _, pid := range tt.launches {
				launches = append(launches, launch{pid: pid})
			}
			_, rule, err := judgeLines(strings.NewReader(tt.text), launches, tt.taken, tt.pad)
			if err != nil || !strings.Contains(rule, tt.want) || tt.want == "" && rule != "" {
				t.Errorf("rule broken: %q, %v, want %q", rule, err, tt.want)
			}
		})
	}
}

func TestOneLaunchOfEachLivesWhileRunIsDead(t *testing.T) {
	t.Parallel()
	a1, a2, b2, run := process{1, "a", "x"}, process{2, "a", "x"}, process{3, "b", "y"}, process{4, "", ""}
	if rule := judgeInstances([]process{a1, run, a2, b2}); rule != "" {
		t.Error(rule)
	}
	if rule := judgeInstances([]process{a1, b2, {5, "a", "y"}}); !strings.Contains(rule, "two launches of a live") {
		t.Errorf("rule broken: %q", rule)
	}
}

func TestAWishIsCarriedOut(t *testing.T) {
	t.Parallel()
	const pid = 100
	recorded := func(phase string, up bool, by int) (r record) {
		r.State.Phase, r.State.Up, r.Supervisor.PID, r.Process.Instance = phase, up, by, "new"
		return r
	}
	leader, old := process{1, "a", "new"}, process{2, "a", "old"}
	other := process{3, "b", "old"}
	for name, tt := range map[string]struct {
		restless bool
		wish     wish
		rec      record
		living   []process
		launches int // three when this run began
		want     string
	}{
		"up":                           {wish: wish{want: up}, rec: recorded("running", true, pid), living: []process{leader, other}, launches: 3},
		"up, under a run before":       {wish: wish{want: up}, rec: recorded("running", true, 99), living: []process{leader}, launches: 3, want: "is not run"},
		"no record":                    {wish: wish{want: up}, want: "is not run"},
		"on its way":                   {wish: wish{want: up}, rec: recorded("starting", true, pid), living: []process{leader}, launches: 3, want: "is starting"},
		"up and dead":                  {wish: wish{want: up}, rec: recorded("running", true, pid), living: []process{other}, launches: 3, want: "its own process is dead"},
		"what it started lives alone":  {wish: wish{want: up}, rec: recorded("running", true, pid), living: []process{{9, "a", "new"}}, launches: 3, want: "its own process is dead"},
		"up, and has not said so":      {wish: wish{want: up}, rec: recorded("running", true, pid), living: []process{leader}, want: "is running"},
		"up beside an old launch":      {wish: wish{want: up}, rec: recorded("running", true, pid), living: []process{leader, old}, launches: 4, want: "older launch"},
		"recorded as stopped":          {wish: wish{want: up}, rec: recorded("running", false, pid), living: []process{leader}, launches: 3, want: "has it down"},
		"restarted":                    {wish: wish{want: up, launches: 3}, rec: recorded("running", true, pid), living: []process{leader}, launches: 4},
		"not restarted":                {wish: wish{want: up, launches: 3}, rec: recorded("running", true, pid), living: []process{leader}, launches: 3, want: "was not"},
		"restless, not started yet":    {restless: true, wish: wish{want: up}, rec: recorded("waiting", true, pid), launches: 3, want: "not been started again"},
		"restless":                     {restless: true, wish: wish{want: up}, rec: recorded("waiting", true, pid), launches: 4},
		"stopped":                      {wish: wish{want: down}, rec: recorded("stopped", false, pid), living: []process{other}, launches: 3},
		"stopping":                     {wish: wish{want: down}, rec: recorded("stopping", false, pid), living: []process{leader}, launches: 3, want: "is stopping"},
		"stopped, to be started again": {wish: wish{want: down}, rec: recorded("stopped", true, pid), launches: 3, want: "ordered to stop"},
		"stopped, and lives":           {wish: wish{want: down}, rec: recorded("stopped", false, pid), living: []process{leader}, launches: 3, want: "something of it lives"},
		"nobody was told":              {wish: wish{want: either}, rec: recorded("waiting", false, pid), launches: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lack := judgeWish(service{name: "a", restless: tt.restless}, tt.wish, tt.rec, pid, tt.living, slices.Repeat([]launch{{pid: leader.pid}}, tt.launches), 3)
			if !strings.Contains(lack, tt.want) || tt.want == "" && lack != "" {
				t.Errorf("lacks %q, want %q", lack, tt.want)
			}
		})
	}
}

// TestEveryPointThatRunPassesIsListed looks where run's code is; archive.* are those of a turn.
func TestEveryPointThatRunPassesIsListed(t *testing.T) {
	t.Parallel()
	passed := map[string]bool{}
	call := regexp.MustCompile(`fault\.At\("([^"]+)"\)`)
	for _, dir := range []string{"fsstate", "supervise", "supervise/service", "supervise/output", "supervise/process", "supervise/health"} {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(dir), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range call.FindAllStringSubmatch(string(src), -1) {
				others := strings.HasPrefix(m[1], "archive.") || strings.HasPrefix(m[1], "handoff.") // keepers pass these
				if !others && !strings.HasSuffix(file, "_test.go") {
					passed[m[1]] = true
				}
			}
		}
	}
	for _, p := range points {
		if !passed[p.name] {
			t.Errorf("point %s is passed nowhere", p.name)
		}
		delete(passed, p.name)
	}
	for name := range passed {
		t.Errorf("point %s is not killed at", name)
	}
}
