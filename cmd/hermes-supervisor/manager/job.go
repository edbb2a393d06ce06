package manager

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
)

// Job is what a service manager is asked to run. The paths are absolute.
type Job struct {
	Program string // this program
	Home    string // HERMES_HOME; "": each user's own
	Config  string // hermes.toml; "": each user's own
	Search  string // PATH; "": the manager's
	Logs    string // the file for output, where the manager keeps none (launchd)
	RunAs   string // the user of a system unit, or a task's; "": the manager's own
	Unsafe  bool   // --unsafe-filesystem
	Budget  Budget
}

// TextError is a path or a name that cannot stand in a unit.
type TextError struct{ What, Text, Problem string }

func (e *TextError) Error() string { return fmt.Sprintf("%s %.120q: %s", e.What, e.Text, e.Problem) }

// FinalSystemd and FinalElsewhere are what `run --final-exit` is given: the exit code of an end that a restart would not
// mend. systemd is told of that code; launchd and Windows restart after every one but 0.
const (
	FinalSystemd   = 78
	FinalElsewhere = 0
)

// argv is the command line, by which the program is found first.
func (j Job) argv(final int) []string {
	argv := []string{j.Program}
	if j.Home != "" {
		argv = append(argv, "--home", j.Home)
	}
	if j.Config != "" {
		argv = append(argv, "--config", j.Config)
	}
	if j.Unsafe {
		argv = append(argv, "--unsafe-filesystem")
	}
	return append(argv, "run", "--final-exit", strconv.Itoa(final))
}

// Check refuses what no unit can hold: a control character would end a line or a string in some of them, and text that is
// not UTF-8 is read differently by each; and what the manager in question takes in no way. The error is a *TextError.
func (j Job) Check(manager string) error {
	for _, t := range []struct{ what, text string }{
		{"program", j.Program}, {"home", j.Home}, {"configuration", j.Config}, {"PATH", j.Search}, {"log file", j.Logs}, {"user", j.RunAs},
	} {
		if problem := unfit(t.text); problem != "" {
			return &TextError{What: t.what, Text: t.text, Problem: problem}
		}
	}
	for _, t := range []struct{ what, path string }{{"program", j.Program}, {"home", j.Home}, {"configuration", j.Config}, {"log file", j.Logs}} {
		if t.path != "" && !filepath.IsAbs(t.path) {
			return &TextError{What: t.what, Text: t.path, Problem: "is not absolute: a service manager has another working directory"}
		}
	}
	if manager == Systemd && strings.ContainsAny(j.Program, "\"'\\") { // also where they are escaped
		return &TextError{What: "program", Text: j.Program, Problem: "has a quote or a backslash, with which systemd runs no program: put it elsewhere"}
	}
	return nil
}

func unfit(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8, which a unit has to be"
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		return "has a line end or another control character, which cannot stand in a unit"
	case strings.ContainsFunc(s, func(r rune) bool { return r == '\ufffe' || r == '\uffff' }):
		return "has a character that XML does not"
	}
	return ""
}

// SearchPath is a shell's PATH without what means another folder in every place: relative and empty elements.
func SearchPath(path string) string {
	var kept []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// Name is how a home's unit is named, without the suffix that a manager adds: hermes-supervisor for the home that this user
// has by default, with the profile's name behind it for a profile, and with a part of the path's hash for any other root.
func Name(home fsstate.Home, byDefault string) string {
	name := "hermes-supervisor"
	if home.Profile != "" {
		name += "-" + home.Profile
	}
	if home.Root != byDefault {
		sum := sha256.Sum256([]byte(home.Root))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return name
}

// seconds is a span as managers take it, rounded up.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// The first line of what install writes tells that it is ours, and by a sum over the rest whether it still is as written.
const (
	madeBy  = "made by hermes-supervisor install"
	sumWord = "sum "
	sumLen  = 16
)

// mark puts that line before the text, between the manager's signs of a comment.
func mark(before, after, text string) string {
	return before + madeBy + " (" + sumWord + sumOf(text) + ")" + after + "\n" + text
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:sumLen]
}

// Ours tells whether a unit's text is one that install wrote, and whether nobody has changed it since.
func Ours(text string) (ours, untouched bool) {
	for range 2 { // XML has its declaration before the first comment
		line, rest, _ := strings.Cut(text, "\n")
		if !strings.Contains(line, madeBy) {
			text = rest
			continue
		}
		_, sum, _ := strings.Cut(line, "("+sumWord)
		return true, len(sum) >= sumLen && sum[:sumLen] == sumOf(rest)
	}
	return false, false
}

// Packaged is the job of the unit that a package brings: each user's own home and configuration, and the stop budget of
// Hermes's gateway beside handoffs, which is the longest that the built-in services have.
func Packaged(manager, scope string) Job {
	j := Job{Program: "/usr/bin/hermes-supervisor", Budget: StopBudget(config.Config{})}
	j.Budget.Services, j.Budget.Slowest = shelter+gatewayStop+leftovers, "hermes-gateway"
	j.Budget.Handoffs = defaultDrain + ladder + leftovers
	switch manager {
	case Systemd:
		if scope == System {
			j.RunAs = "%i" // hermes-supervisor@USER.service
		}
	case Launchd:
		j.Program = "/usr/local/bin/hermes-supervisor"
		j.Search = "/opt/homebrew/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
	case WindowsTask:
		j.Program = `C:\Program Files\hermes-supervisor\hermes-supervisor.exe`
	}
	return j
}

// The figures of a packaged unit that stand in no configuration. A test holds them to the built-in ones.
const (
	gatewayStop  = 75 * time.Second
	defaultDrain = 30 * time.Second
)
