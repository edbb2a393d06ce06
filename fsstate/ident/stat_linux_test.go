package ident

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// statLine is what the kernel writes for a process with this name.
func statLine(pid int, comm, state, threads, start string) string {
	return fmt.Sprintf("%d (%s) %s 1 %d %d 0 -1 4194560 131 0 0 0 0 0 0 0 20 0 %s 0 %s 3133440 397 "+
		"18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n", pid, comm, state, pid, pid, threads, start)
}

func TestStatIsReadBehindTheLastParenthesis(t *testing.T) {
	t.Parallel()
	names := []string{
		"bash", "a) S 1 (b", "a) Z 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 7 (b", ")", "))", "(", "", " ", "\n", ") R\n812 (x) Z",
		"kworker/u8:1-events_unbound", "\xff\xfe",
	}
	for _, name := range names {
		got, err := parseStat([]byte(statLine(812, name, "S", "3", "58714")), 812)
		if want := (stat{state: 'S', parent: 1, threads: 3, start: 58714}); err != nil || got != want {
			t.Errorf("program named %q: %+v, %v", name, got, err)
		}
	}
}

func TestBrokenStatIsAnError(t *testing.T) {
	t.Parallel()
	cut, _, _ := strings.Cut(statLine(812, "x", "S", "1", "58714"), " 58714")
	tests := map[string]string{
		"empty":               "",
		"of another process":  statLine(81, "x", "S", "1", "58714"),
		"of a longer pid":     statLine(8121, "x", "S", "1", "58714"),
		"no name":             "812 S 1 1",
		"name without an end": "812 (x S 1 1",
		"nothing behind":      "812 (x)",
		"cut before start":    cut,
		"start is no number":  statLine(812, "x", "S", "1", "5x"),
		"start is negative":   statLine(812, "x", "S", "1", "-5"),
		"start overflows":     statLine(812, "x", "S", "1", "9223372036854775808"),
		"threads no number":   statLine(812, "x", "S", "?", "58714"),
		"threads negative":    statLine(812, "x", "S", "-1", "58714"),
		"parent is no number": strings.Replace(statLine(812, "x", "S", "1", "58714"), " S 1 ", " S ? ", 1),
		"parent is negative":  strings.Replace(statLine(812, "x", "S", "1", "58714"), " S 1 ", " S -1 ", 1),
		"state is a word":     statLine(812, "x", "SZ", "1", "58714"),
	}
	for name, line := range tests {
		if got, err := parseStat([]byte(line), 812); err == nil || got != (stat{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("bash", []byte(statLine(812, "a) S 1 (b", "Z", "1", "58714")))
	f.Add("a) S 1 (b", []byte("812 ("))
	f.Add("))((", []byte("812 ()))) R"))
	f.Fuzz(func(t *testing.T, name string, line []byte) {
		// Any text: no panic, and an error has no answer beside it.
		if got, err := parseStat(line, 812); err != nil && got != (stat{}) {
			t.Errorf("%q: %+v beside %v", line, got, err)
		} else if err == nil && (got.start < 0 || got.threads < 0) {
			t.Errorf("%q: %+v", line, got)
		}
		// Any name in a true line: it changes nothing.
		got, err := parseStat([]byte(statLine(812, name, "S", "3", "58714")), 812)
		if want := (stat{state: 'S', parent: 1, threads: 3, start: 58714}); err != nil || got != want {
			t.Errorf("program named %q: %+v, %v", name, got, err)
		}
	})
}

func TestProgramNamedLikeAStatLineIsIdentified(t *testing.T) {
	t.Parallel()
	const name = "a) S 1 (b"
	program := filepath.Join(t.TempDir(), name)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, program); err != nil {
		t.Fatal(err)
	}
	c, _ := start(t, "idle", func(cmd *exec.Cmd) { cmd.Path = program })
	line, err := os.ReadFile(proc.of(c.Process.Pid, "stat"))
	if err != nil || !strings.Contains(string(line), "("+name+")") {
		t.Fatalf("the kernel does not call it so: %s, %v", line, err)
	}
	id, err := Of(c.Process.Pid, "")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(strings.Replace(string(line), name, "x", 1))
	if want, _ := strconv.ParseInt(fields[21], 10, 64); id.Start != want || want == 0 {
		t.Errorf("start %d, want %d", id.Start, want)
	}
	if got := Check(id); got != Alive {
		t.Errorf("%v", got)
	}
}
