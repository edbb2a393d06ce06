package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
)

// versionLimit is how long an agent may take to tell its version: node and Python need a second or two on a slow disk.
const versionLimit = 5 * time.Second

// maxVersion bounds what is kept of its answer, in bytes.
const maxVersion = 4 << 10

// installs are the commands by which the makers of the agents that are built in say to install them.
var installs = map[string]string{
	"aider":    "python3 -m pip install aider-install && aider-install",
	"claude":   "npm install -g @anthropic-ai/claude-code",
	"codex":    "npm install -g @openai/codex",
	"gemini":   "npm install -g @google/gemini-cli",
	"opencode": "npm install -g opencode-ai",
	"hermes":   "python3 -m pip install hermes-agent",
}

// asked is one agent whose version is asked for.
type asked struct {
	name, program, path string
	configured          bool
	version             string
	err                 error
}

// lookAtAgents: which agents are there, and whether those that hermes.toml names are. Each is asked for its version, all
// at once.
func lookAtAgents(ctx context.Context, e Env) []Finding {
	var found []Finding
	var all []*asked
	seen := map[string]bool{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(agents.Names(), slices.Collect(maps.Keys(e.Config.Agents)))))) {
		agent, err := e.Config.Agent(name)
		if err != nil || len(agent.Command) == 0 {
			continue
		}
		_, configured := e.Config.Agents[name]
		if seen[agent.Command[0]] && !configured {
			continue // another way to run the same program
		}
		seen[agent.Command[0]] = true
		a := &asked{name: name, program: agent.Command[0], configured: configured}
		if a.path, err = e.LookPath(a.program); err == nil {
			all = append(all, a)
		} else if configured {
			found = append(found, e.missingAgent(a, err))
		}
	}
	var asking sync.WaitGroup
	for _, a := range all {
		asking.Go(func() { a.version, a.err = versionOf(ctx, a.path, e.Environ) })
	}
	asking.Wait()
	var there []string
	for _, a := range all {
		if a.err != nil && a.configured {
			found = append(found, warning(fmt.Sprintf("agent %s does not tell its version: %s: %v", a.name, a.path, a.err), sh(a.path, "--version")))
			continue
		}
		text := a.name
		if a.version != "" {
			text += " " + a.version
		}
		if !a.configured {
			text += " (not in hermes.toml)"
		}
		there = append(there, text)
	}
	if len(there) == 0 {
		there = []string{"none that is known is in PATH"}
	}
	return orOK(found, "%s", strings.Join(there, ", "))
}

func (e Env) missingAgent(a *asked, err error) Finding {
	if filepath.IsAbs(a.program) && errors.Is(err, fs.ErrPermission) {
		return problem(fmt.Sprintf("agent %s cannot be run: %v", a.name, err), sh("chmod", "u+x", a.program))
	}
	if install := installs[a.program]; install != "" {
		return problem(fmt.Sprintf("agent %s is in hermes.toml, and PATH has no %s", a.name, a.program), install)
	}
	return problem(fmt.Sprintf("agent %s is in hermes.toml, and its program %s is not found", a.name, a.program), edit(e.Source.Path))
}

// versionOf runs PROGRAM --version without a terminal, with nothing to read and a bounded answer.
func versionOf(ctx context.Context, path string, environ []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	detached(cmd)
	cmd.Env = append(slices.Clone(environ), "TERM=dumb", "NO_COLOR=1", "CI=1")
	cmd.WaitDelay = 500 * time.Millisecond
	var out bounds
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", fmt.Errorf("no answer within %s", versionLimit)
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "", err
	}
	return versionIn(string(out.text)), nil
}

// bounds keeps the beginning of what is written and takes the rest, so that the writer never blocks on it. It is
// written by one goroutine: os/exec gives one pipe to two equal writers.
type bounds struct{ text []byte }

func (b *bounds) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), maxVersion-len(b.text))]...)
	return len(p), nil
}

// versionIn is the first thing in a text that looks like a version; "" where nothing does.
func versionIn(text string) string {
	return regexp.MustCompile(`[0-9]+\.[0-9]+(\.[0-9A-Za-z]+)*(-[0-9A-Za-z.]+)?`).FindString(text)
}
