package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"hermes-supervisor/supervise/follow"
)

// waitMetric FILE SERIES VALUE waits until a file of metrics, which has to be right at every look, says so; with ! and the
// file alone, until there is none. The labels of the series are in the order of their names.
func waitMetric(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg && len(args) == 1 || !neg && len(args) == 3, "waitmetric FILE SERIES VALUE")
	var text []byte
	err := within(patience, func() (bool, error) {
		var err error
		text, err = os.ReadFile(ts.MkAbs(args[0]))
		if errors.Is(err, fs.ErrNotExist) || neg {
			return neg && err != nil, nil
		}
		series, err := parseMetrics(string(text))
		return err == nil && series[args[1]] == args[2], err
	})
	if err != nil {
		ts.Fatalf("%s: %v\n%s", args, err, text)
	}
}

var (
	aHelp   = regexp.MustCompile(`^# HELP ([a-z_]+) (\S.*\.)$`)
	aType   = regexp.MustCompile(`^# TYPE ([a-z_]+) (counter|gauge|histogram)$`)
	aSample = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? ([0-9.e+-]+)$`)
	aLabel  = regexp.MustCompile(`^([a-z_]+)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)`)
)

// parseMetrics reads the text format strictly, and holds it to the rules for names: each family once, with HELP, TYPE and
// its samples in one piece, counters that end in _total and nothing else that does, no series twice, no negative value, and
// histograms that add up.
func parseMetrics(text string) (map[string]string, error) {
	series, done, closed := map[string]string{}, map[string]string{}, strings.HasSuffix(text, "\n")
	family, help, last := "", "", map[string]float64{}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fault := func(what string) error { return fmt.Errorf("line %d: %s: %q", i+1, what, line) }
		if m := aHelp.FindStringSubmatch(line); m != nil {
			if done[m[1]] != "" {
				return nil, fault("family for the second time")
			}
			help = m[1]
			continue
		}
		if m := aType.FindStringSubmatch(line); m != nil {
			if family = m[1]; family != help || !strings.HasPrefix(family, "hermes_supervisor_") || (m[2] == "counter") != strings.HasSuffix(family, "_total") {
				return nil, fault("type")
			}
			done[family] = m[2]
			continue
		}
		m := aSample.FindStringSubmatch(line)
		if m == nil {
			return nil, fault("no line of the format")
		}
		name := m[1]
		if done[family] == "histogram" {
			for _, end := range []string{"_bucket", "_sum", "_count"} {
				name = strings.TrimSuffix(name, end)
			}
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if name != family || err != nil || value < 0 {
			return nil, fault("sample of no family, or no value")
		}
		var labels []string
		others := []string{family} // labels but le
		for rest := m[2]; rest != ""; {
			l := aLabel.FindStringSubmatch(rest)
			if l == nil {
				return nil, fault("labels")
			}
			labels = append(labels, fmt.Sprintf("%s=%q", l[1], l[2]))
			if l[1] != "le" {
				others = append(others, l[0])
			}
			rest = rest[len(l[0]):]
		}
		slices.Sort(labels)
		key := m[1]
		if len(labels) > 0 {
			key += "{" + strings.Join(labels, ",") + "}"
		}
		if _, twice := series[key]; twice {
			return nil, fault("series for the second time")
		}
		series[key] = m[3]
		if strings.HasSuffix(m[1], "_bucket") || strings.HasSuffix(m[1], "_count") && done[family] == "histogram" {
			if value < last[strings.Join(others, " ")] {
				return nil, fault("buckets that do not add up")
			}
			last[strings.Join(others, " ")] = value
		}
	}
	if !closed {
		return nil, errors.New("the last line is not whole")
	}
	return series, nil
}

// waitTold FILE EVENT SUBJECT N waits until a file has N notices of an event about a session or a service, each a line that
// is as the contract says, and fails where it has more.
func waitTold(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 4, "waittold FILE EVENT SUBJECT N")
	want, err := strconv.Atoi(args[3])
	ts.Check(err)
	var text []byte
	err = within(patience, func() (bool, error) {
		text, _ = os.ReadFile(ts.MkAbs(args[0]))
		found := 0
		for line := range strings.Lines(string(text)) {
			if !strings.HasSuffix(line, "\n") {
				continue // it is being written
			}
			var n follow.Notice
			dec := json.NewDecoder(strings.NewReader(line))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&n); err != nil {
				return false, err
			}
			if n.Schema != 1 || len(n.ID) != 32 || n.Time.IsZero() || n.Home == "" || n.Text == "" || (n.Session == "") == (n.Service == "") {
				return false, fmt.Errorf("not as the contract says: %s", line)
			}
			if n.Event == args[1] && n.Session+n.Service == args[2] {
				found++
			}
		}
		if found > want {
			return false, fmt.Errorf("%d times", found)
		}
		return found == want, nil
	})
	if err != nil {
		ts.Fatalf("%s: %v\n%s", args, err, text)
	}
}
