package config

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// fault is what is wrong with the value of a table's key.
type fault struct {
	key     string // of the table, or below it: "restart.delay"; "" is the table itself
	problem string
	nearest string
	other   string // the second key of the rule that is broken, "" where it has one only
}

// under is the fault of a table, told from the table that it stands in.
func (f *fault) under(table string) *fault {
	f.key = strings.TrimSuffix(table+"."+f.key, ".")
	if f.other != "" {
		f.other = table + "." + f.other
	}
	return f
}

// maxAttempts is the highest max_attempts: more is a crash loop, not a continuation.
const maxAttempts = 100

// maxConcurrent is the highest max_concurrent: each continuation, and each delivery, is a program at work.
const maxConcurrent = 100

func checkConcurrent(n int) *fault {
	if n < 1 || n > maxConcurrent {
		return &fault{key: "max_concurrent", problem: fmt.Sprintf("must be 1 to %d, not %d", maxConcurrent, n)}
	}
	return nil
}

func (a AutoContinue) check() *fault {
	if a.MaxAttempts < 0 || a.MaxAttempts > maxAttempts {
		return &fault{key: "max_attempts", problem: fmt.Sprintf("must be 0 to %d, not %d", maxAttempts, a.MaxAttempts)}
	}
	if a.Backoff > a.MaxBackoff {
		return &fault{
			key: "backoff", other: "max_backoff",
			problem: fmt.Sprintf("backoff (%v) must not be above max_backoff (%v)", a.Backoff, a.MaxBackoff),
		}
	}
	return checkConcurrent(a.MaxConcurrent)
}

func (a Agent) check() *fault {
	if len(a.Command) == 0 {
		return &fault{key: "command", problem: `needs a command (as in command = ["codex", "exec", "-"])`}
	}
	for _, argv := range []struct {
		key      string
		elements []string
	}{{"command", a.Command}, {"resume", a.Resume}} {
		if f := checkArgv(argv.key, argv.elements, placeholders); f != nil {
			return f
		}
	}
	for i, element := range a.Args {
		if name := unknownPlaceholder(element, placeholders); name != "" || strings.Contains(element, argsPlaceholder) || strings.ContainsRune(element, 0) {
			return &fault{key: "args", problem: fmt.Sprintf("element %d %.60q: has a NUL character, or {{ that is no placeholder of an argument", i+1, element)}
		}
	}
	for _, argv := range []struct {
		key      string
		elements []string
	}{{"command", a.Command}, {"resume", a.Resume}} {
		if len(a.Args) > 0 && len(argv.elements) > 0 && !slices.Contains(argv.elements, argsPlaceholder) {
			return &fault{key: "args", other: argv.key, problem: fmt.Sprintf("has no place: %s has no element %s", argv.key, argsPlaceholder)}
		}
	}
	for _, event := range []struct{ key, pattern string }{
		{"begin_event", a.BeginEvent},
		{"end_event", a.EndEvent},
		{"error_event", a.ErrorEvent},
		{"busy_event", a.BusyEvent},
		{"rate_limit_event", a.RateLimitEvent},
		{"session_event", a.SessionEvent},
		{"unknown_session_event", a.UnknownSessionEvent},
	} {
		if problem := checkPattern(event.pattern); problem != "" {
			return &fault{key: event.key, problem: problem}
		}
	}
	for _, key := range a.StderrEvents {
		if f := oneOf("stderr_events", key, StderrSession, StderrUnknownSession, StderrBusy, StderrRateLimit); f != nil {
			return f
		}
	}
	for _, f := range []*fault{
		a.checkSession(),
		oneOf("stop_signal", a.StopSignal, "TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "KILL"),
		oneOf("stop_scope", a.StopScope, ScopeLeader, ScopeGroup),
		checkEnv(a.Env, a.UnsetEnv),
		checkExits("crash_exit", a.CrashExit, "concluded_exit", a.ConcludedExit),
		checkExits("crash_exit", a.CrashExit, "unknown_session_exit", a.UnknownSessionExit),
	} {
		if f != nil {
			return f
		}
	}
	if f := a.Hooks.check(); f != nil {
		return f.under("hooks")
	}
	if f := a.Wrap.check(); f != nil {
		return f.under("wrap")
	}
	return nil
}

// checkSession checks what is said of the agent's own sessions.
func (a Agent) checkSession() *fault {
	uses := slices.ContainsFunc(a.Resume, func(element string) bool { return strings.Contains(element, sessionPlaceholder) })
	starts := slices.ContainsFunc(a.Command, func(element string) bool { return strings.Contains(element, sessionPlaceholder) })
	switch {
	case a.SessionID != "" && a.SessionID != SessionChosen && a.SessionID != SessionTold:
		return oneOf("session_id", a.SessionID, SessionChosen, SessionTold)
	case a.FreshSession != "" && a.FreshSession != FreshSame && a.FreshSession != FreshNew:
		return oneOf("fresh_session", a.FreshSession, FreshSame, FreshNew)
	case a.SessionID == SessionTold && a.SessionEvent == "":
		return &fault{key: "session_event", other: "session_id", problem: `is needed where session_id = "told"`}
	case a.SessionID == SessionTold && regexp.MustCompile(a.SessionEvent).NumSubexp() == 0:
		return &fault{key: "session_event", problem: "has no group (…) that would be the id"}
	case a.SessionID == "" && (uses || starts):
		return &fault{key: "session_id", other: "resume", problem: "is needed where {{agent_session}} is used"}
	case starts && a.SessionID != SessionChosen:
		return &fault{key: "command", problem: `has {{agent_session}}, which is known before the first run only where session_id = "chosen"`}
	}
	return nil
}

// Placeholders of an agent's argv, each replaced once by one value, which is never expanded again.
var placeholders = []string{"{{prompt}}", "{{prompt_file}}", "{{session}}", sessionPlaceholder, "{{attempt}}", argsPlaceholder}

// sessionPlaceholder is the agent's own id of the session.
const sessionPlaceholder = "{{agent_session}}"

// argsPlaceholder is an element of its own, in whose place Args are put.
const argsPlaceholder = "{{args}}"

func checkArgv(key string, argv, known []string) *fault {
	for i, element := range argv {
		problem := func(format string, args ...any) *fault {
			about := fmt.Sprintf("element %d %.60q: ", i+1, element)
			return &fault{key: key, problem: about + fmt.Sprintf(format, args...)}
		}
		if strings.ContainsRune(element, 0) {
			return problem("has a NUL character, which no argument can hold")
		}
		if name := unknownPlaceholder(element, known); name != "" {
			f := problem("%s", placeholderProblem(name, known))
			f.nearest = nearestPlaceholder(name, known)
			return f
		}
		if strings.Contains(element, argsPlaceholder) && element != argsPlaceholder {
			return problem("%s stands for several arguments, so it is an element of its own", argsPlaceholder)
		}
		if i > 0 {
			continue
		}
		if wrong := checkProgram(element, "or a name in PATH (~ and variables are not expanded)"); wrong != "" {
			return problem("%s", wrong)
		}
	}
	return nil
}

// checkProgram says what is wrong with the first element of an argv; or is what it may be besides an absolute path.
func checkProgram(element, or string) string {
	switch {
	case element == "":
		return "must name a program"
	case strings.Contains(element, "{{"):
		return "the program cannot be a placeholder"
	case !filepath.IsAbs(element) && strings.ContainsAny(filepath.ToSlash(element), "/"):
		return "must be an absolute path " + or
	}
	return ""
}

func placeholderProblem(name string, known []string) string {
	return fmt.Sprintf("unknown placeholder %.40q (known: %s)", name, strings.Join(known, " "))
}

func nearestPlaceholder(name string, known []string) string {
	return nearestKey(strings.ReplaceAll(name, " ", ""), known)
}

// unknownPlaceholder returns what of the element looks like a placeholder and is none: "{{" never stands for itself, so
// that a misspelt one is not handed on as it is.
func unknownPlaceholder(element string, known []string) string {
	for {
		_, after, found := strings.Cut(element, "{{")
		if !found {
			return ""
		}
		name, rest, closed := strings.Cut(after, "}}")
		if !closed {
			return "{{" + after
		}
		if name = "{{" + name + "}}"; !slices.Contains(known, name) {
			return name
		}
		element = rest
	}
}

// maxPattern bounds a regexp, which can compile to a hundred times its length.
const maxPattern = 4 << 10

func checkPattern(pattern string) string {
	if pattern == "" {
		return ""
	}
	if len(pattern) > maxPattern {
		return fmt.Sprintf("is longer than %d bytes", maxPattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		if bad, ok := errors.AsType[*syntax.Error](err); ok {
			return fmt.Sprintf("is no Go regexp: %s: %.60q", bad.Code, bad.Expr)
		}
		return "is no Go regexp: " + err.Error()
	}
	if re.MatchString("") {
		return "matches an empty line, so it would match any output"
	}
	return ""
}

// ourVariables are set by the supervisor for every agent and service. HERMES_SUPERVISOR_INSTANCE above all has to be right: a
// process is found by it.
var ourVariables = []string{
	"HERMES_HOME", "HERMES_SUPERVISOR_SESSION", "HERMES_SUPERVISOR_ATTEMPT", "HERMES_SUPERVISOR_INSTANCE",
}

func checkEnv(set map[string]string, unset []string) *fault {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if problem := checkVariable(name); problem != "" {
			return &fault{key: "env", problem: problem}
		}
		if strings.ContainsRune(set[name], 0) {
			return &fault{key: "env", problem: fmt.Sprintf("the value of %.60q has a NUL character", name)}
		}
	}
	for _, name := range unset {
		if problem := checkVariable(name); problem != "" {
			return &fault{key: "unset_env", problem: problem}
		}
		if _, both := set[name]; both {
			return &fault{key: "unset_env", problem: fmt.Sprintf("%.60q is set by env", name)}
		}
	}
	return nil
}

func checkVariable(name string) string {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return fmt.Sprintf("%.60q is no name of a variable", name)
	case slices.Contains(ourVariables, name):
		return name + " is the supervisor's own"
	default:
		return ""
	}
}

// checkExits checks two lists of exit codes that exclude each other.
func checkExits(key string, codes []int, otherKey string, others []int) *fault {
	for _, list := range []struct {
		key   string
		codes []int
	}{{key, codes}, {otherKey, others}} {
		for _, code := range list.codes {
			if int64(code) < 0 || int64(code) > maxExit {
				return &fault{key: list.key, problem: fmt.Sprintf("exit codes are 0 to %d, not %d", int64(maxExit), code)}
			}
		}
	}
	for _, code := range others {
		if slices.Contains(codes, code) {
			return &fault{key: otherKey, other: key, problem: fmt.Sprintf("%d is in %s too", code, key)}
		}
	}
	return nil
}

// optional is oneOf for a value that may be "".
func optional(key, value string, words ...string) *fault {
	if value == "" {
		return nil
	}
	return oneOf(key, value, words...)
}

// oneOf says what is wrong with a value that has to be one of a few words.
func oneOf(key, value string, words ...string) *fault {
	if slices.Contains(words, value) {
		return nil
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = fmt.Sprintf("%q", word)
	}
	return &fault{
		key: key, problem: fmt.Sprintf("must be %s, not %.40q", strings.Join(quoted, ", "), value),
		nearest: nearestKey(value, words),
	}
}
