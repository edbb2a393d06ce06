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
type fault struct{ key, problem, nearest string }

// maxAttempts is the highest max_attempts: more is a crash loop, not a continuation.
const maxAttempts = 100

func (a AutoContinue) check() *fault {
	if a.MaxAttempts < 0 || a.MaxAttempts > maxAttempts {
		return &fault{key: "max_attempts", problem: fmt.Sprintf("must be 0 to %d, not %d", maxAttempts, a.MaxAttempts)}
	}
	if a.Backoff > a.MaxBackoff {
		return &fault{key: "backoff", problem: fmt.Sprintf("backoff (%v) must not be above max_backoff (%v)", a.Backoff, a.MaxBackoff)}
	}
	return nil
}

func (a Agent) check() *fault {
	if len(a.Command) == 0 {
		return &fault{key: "command", problem: `needs a command (as in command = ["codex", "exec", "-"])`}
	}
	for _, argv := range []struct {
		key      string
		elements []string
	}{{"command", a.Command}, {"resume", a.Resume}} {
		if f := checkArgv(argv.key, argv.elements); f != nil {
			return f
		}
	}
	for _, event := range []struct{ key, pattern string }{
		{"end_event", a.EndEvent},
		{"error_event", a.ErrorEvent},
		{"busy_event", a.BusyEvent},
		{"rate_limit_event", a.RateLimitEvent},
	} {
		if problem := checkPattern(event.pattern); problem != "" {
			return &fault{key: event.key, problem: problem}
		}
	}
	if f := checkEnv(a.Env, a.UnsetEnv); f != nil {
		return f
	}
	return checkExits(a.CrashExit, a.ConcludedExit)
}

// Placeholders of an argv, each replaced once by one value, which is never expanded again.
var placeholders = []string{"{{prompt}}", "{{prompt_file}}", "{{session}}", "{{attempt}}"}

func checkArgv(key string, argv []string) *fault {
	for i, element := range argv {
		problem := func(format string, args ...any) *fault {
			about := fmt.Sprintf("element %d %.60q: ", i+1, element)
			return &fault{key: key, problem: about + fmt.Sprintf(format, args...)}
		}
		if strings.ContainsRune(element, 0) {
			return problem("has a NUL character, which no argument can hold")
		}
		if name := unknownPlaceholder(element); name != "" {
			f := problem("unknown placeholder %.40q (known: %s)", name, strings.Join(placeholders, " "))
			f.nearest = nearestKey(strings.ReplaceAll(name, " ", ""), placeholders)
			return f
		}
		if i > 0 {
			continue
		}
		switch {
		case element == "":
			return problem("must name a program")
		case strings.Contains(element, "{{"):
			return problem("the program cannot be a placeholder")
		case !filepath.IsAbs(element) && strings.ContainsAny(filepath.ToSlash(element), "/"):
			return problem("must be an absolute path or a name in PATH (~ and variables are not expanded)")
		}
	}
	return nil
}

// unknownPlaceholder returns what of the element looks like a placeholder and is none: "{{" never stands for itself, so
// that a misspelt one is not handed to the agent as it is.
func unknownPlaceholder(element string) string {
	for {
		_, after, found := strings.Cut(element, "{{")
		if !found {
			return ""
		}
		name, rest, closed := strings.Cut(after, "}}")
		if !closed {
			return "{{" + after
		}
		if name = "{{" + name + "}}"; !slices.Contains(placeholders, name) {
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

// ourVariables are set by the supervisor for every agent. HERMES_SUPERVISOR_INSTANCE above all has to be right: a
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

func checkExits(crash, concluded []int) *fault {
	for _, codes := range []struct {
		key   string
		codes []int
	}{{"crash_exit", crash}, {"concluded_exit", concluded}} {
		for _, code := range codes.codes {
			if int64(code) < 0 || int64(code) > maxExit {
				return &fault{key: codes.key, problem: fmt.Sprintf("exit codes are 0 to %d, not %d", int64(maxExit), code)}
			}
		}
	}
	for _, code := range concluded {
		if slices.Contains(crash, code) {
			return &fault{key: "concluded_exit", problem: fmt.Sprintf("%d is in crash_exit too", code)}
		}
	}
	return nil
}
