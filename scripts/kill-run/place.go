//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hermes-supervisor/supervise/service/childtest"
)

// A service is what run keeps up here: a script of childtest, in which a word with a dot is a file of this place. Each of
// its processes has a log of its launches, NAME.log, which is its lock too, and counts its lines in NAME.n.
type service struct {
	name     string
	restless bool // it ends by itself all the time, and is started again all the time
	script   string
	logs     []string  // the service's own first
	printed  []printed // what its output must be
}

// printed is one stream of numbered lines.
type printed struct {
	stream, by string // which one, and the log of who writes it
	pad        int
}

var services = []service{
	{
		name: "steady", logs: []string{"steady", "warning"}, printed: []printed{{"out", "steady", 400}, {"err", "warning", 0}},
		script: "alone steady.log fork { alone warning.log number-err warning.n 0 5ms } pad 400 number steady.n 0 1ms",
	},
	{
		name: "restless", restless: true, logs: []string{"restless"}, printed: []printed{{"out", "restless", 0}},
		script: "alone restless.log number restless.n 5 10ms exit 1",
	},
	{
		name: "forking", logs: []string{"forking", "own", "far"}, printed: []printed{{"out", "forking", 0}},
		script: "alone forking.log setsid { alone own.log hold } double-fork { alone far.log hold } number forking.n 0 3ms",
	},
	{
		name: "deaf", logs: []string{"deaf"}, printed: []printed{{"out", "deaf", 0}},
		script: "ignore TERM alone deaf.log number deaf.n 0 7ms",
	},
}

// A place is where a storm plays: a home, a configuration, and what the services write.
type place struct{ dir string }

const configuration = `[restart]
delay = "1ms"
max_delay = "10ms"
reset_after = "1s"
storm_starts = 1000
storm_window = "10s"
`

func newPlace(dir, program string) (place, error) {
	p := place{dir}
	for _, sub := range []string{"home", "config", "data"} {
		if err := os.Mkdir(p.file(sub), 0o700); err != nil {
			return p, fmt.Errorf("make a place: %w", err)
		}
	}
	var text strings.Builder
	text.WriteString(configuration)
	for _, s := range services {
		fmt.Fprintf(&text, "[[service]]\nname = %q\nstop_timeout = \"300ms\"\nlog_max = \"4GiB\"\ncommand = [%q, \"child\"", s.name, program)
		for word := range strings.FieldsSeq(s.script) {
			if strings.Contains(word, ".") {
				word = p.file("data", word)
			}
			fmt.Fprintf(&text, ", %q", word)
		}
		text.WriteString("]\n")
	}
	return p, os.WriteFile(p.file("config", "hermes.toml"), []byte(text.String()), 0o600)
}

func (p place) file(elem ...string) string {
	return filepath.Join(append([]string{p.dir}, elem...)...)
}

// launches are those that a log tells of, in their order.
func (p place) launches(log string) ([]launch, error) {
	data, err := os.ReadFile(p.file("data", log+".log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return readLaunches(string(data))
}

// taken is the last number that was taken for a line of a log's process.
func (p place) taken(log string) (int, error) {
	data, err := os.ReadFile(p.file("data", log+".n"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

// record is what is looked at of a service's record.
type record struct {
	State struct {
		Phase string
		Up    bool
	}
	Supervisor struct{ PID int }
	Process    struct{ Instance string }
}

// record reads what is recorded of a service; false where nothing is.
func (p place) record(service string) (r record, there bool, err error) {
	data, err := os.ReadFile(p.file("home", "supervisor", "services", service+".json"))
	if errors.Is(err, os.ErrNotExist) {
		return r, false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, true, err
}

// partOf is the part that a service of this program plays; nil in the storm itself.
func partOf(argv []string) (part func(args []string) int, args []string) {
	if len(argv) < 2 || argv[1] != "child" {
		return nil, nil
	}
	return childtest.Main, argv[2:]
}
