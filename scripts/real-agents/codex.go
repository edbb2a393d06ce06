package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// codexVersion is the version that every expectation here was tried with.
const codexVersion = "0.171.0"

// installCodex returns the path of Codex CLI's launcher. Before Node 22.15 the launcher stays as the parent of the native
// agent, and each of the two can be killed alone.
func installCodex(ctx context.Context, dir string) (launcher string, err error) {
	if err := npmInstall(ctx, dir, "@openai/codex", codexVersion); err != nil {
		return "", err
	}
	launcher = filepath.Join(dir, "node_modules", ".bin", "codex")
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// The native agent is an optional dependency: npm succeeds without it.
	out, err := exec.CommandContext(ctx, launcher, "--version").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "codex-cli "+codexVersion {
		return "", &unavailableError{fmt.Sprintf("codex --version does not answer codex-cli %s: %v: %s", codexVersion, err, brief(string(out)))}
	}
	return launcher, nil
}

// writeCodexHome makes a CODEX_HOME whose only model provider is at url, and which asks nothing of anyone else.
func writeCodexHome(dir, url string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make CODEX_HOME: %w", err)
	}
	config := fmt.Sprintf(`model = "mock-model"
model_provider = "mock"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.mock]
name = "mock"
base_url = "%s/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
`, url)
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600); err != nil {
		return fmt.Errorf("write Codex configuration: %w", err)
	}
	return nil
}

// codexArgs is the command line of one unattended turn whose prompt comes on stdin. One retry is enough to see that a
// retry of Codex's own is no continuation of ours; its default of five takes it several seconds.
func codexArgs(launcher string) []string {
	return []string{launcher, "exec", "--json", "--skip-git-repo-check", "-c", "model_providers.mock.stream_max_retries=1", "-"}
}

// A codexEvent is one line of `codex exec --json`.
type codexEvent struct {
	Type string `json:"type"`
	line string // the whole line, without what differs between two runs
}

// codexEvents reads the output of one or more runs. A line that is no JSON object is an error: Codex prints none, and
// hermes-supervisor adds nothing to what an agent prints.
func codexEvents(path string) ([]codexEvent, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	var events []codexEvent
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var fields map[string]any
		if err := json.Unmarshal(lines.Bytes(), &fields); err != nil {
			return nil, fmt.Errorf("read codex output %q: %w", lines.Text(), err)
		}
		kind, _ := fields["type"].(string)
		delete(fields, "thread_id")
		line, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		events = append(events, codexEvent{Type: kind, line: string(line)})
	}
	return events, lines.Err()
}

// direct runs Codex without a supervisor, as the measure of what a supervised run prints.
func direct(ctx context.Context, launcher, prompt, cwd string, env []string) ([]codexEvent, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	path := filepath.Join(cwd, "direct.jsonl")
	out, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer out.Close() //nolint:errcheck // written by the child
	args := codexArgs(launcher)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout = cwd, env, strings.NewReader(prompt), out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("run codex without a supervisor: %w", err)
	}
	return codexEvents(path)
}
