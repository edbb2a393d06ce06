package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// exitsVar names the file to which each call of the program in a script adds its arguments and its exit code.
const exitsVar = "HERMES_SUPERVISOR_TEST_EXITS"

type notedExit struct {
	Args []string
	Code int
}

// mainNoted is main, and notes what it returned. Calls that a signal ends note nothing.
func mainNoted() {
	code := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	if path := os.Getenv(exitsVar); path != "" {
		if line, err := json.Marshal(notedExit{os.Args[1:], code}); err == nil {
			if f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err == nil {
				_, _ = f.Write(append(line, '\n')) // one write: calls append beside each other
				_ = f.Close()
			}
		}
	}
	os.Exit(code)
}

// checkExits compares the exit codes of all calls in the scripts with those that the help of their commands names.
func checkExits(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Logf("no call was noted: %v", err)
		return
	}
	root := (&app{}).command()
	root.InitDefaultHelpCmd()
	seen, told := 0, map[string]bool{}
	for line := range strings.Lines(string(data)) {
		var one notedExit
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			continue // of a call that was killed while it wrote
		}
		cmd, _, err := root.Find(one.Args)
		if err != nil || slices.Contains(one.Args, completeName) || cmd.IsAdditionalHelpTopicCommand() {
			continue
		}
		seen++
		exits := exitsOf(below(cmd))
		named := slices.ContainsFunc(exits, func(e exit) bool {
			return e.code == one.Code || e.code == exitOwn || e.code == exitSignal && one.Code > exitSignal
		})
		if what := fmt.Sprintf("%s returned %d, which its help does not name", cmd.CommandPath(), one.Code); !named && !told[what] {
			told[what] = true
			t.Errorf("%s: %.300q", what, one.Args)
		}
	}
	t.Logf("%d exit codes are among those that the help names", seen)
}
