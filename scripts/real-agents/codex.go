package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// Codex CLI. Before Node 22.15 its launcher stays as the parent of the native agent, and each of the two can be killed
// alone.
var codex = agent{
	preset: "codex",
	install: func(ctx context.Context, dir string) (string, error) {
		return npmAgent(ctx, dir, "@openai/codex", "0.171.0", "codex", "codex-cli 0.171.0")
	},
	settle: func(t *trial) (setup, error) {
		home := filepath.Join(t.dir, "codex")
		return setup{
			args: []string{"-c", `sandbox_mode="danger-full-access"`},
			env:  map[string]string{"CODEX_HOME": home, "MOCK_KEY": "dummy"},
		}, writeFile(filepath.Join(home, "config.toml"), fmt.Sprintf(codexConfig, t.model.URL()))
	},
	native:   "codex",
	launcher: "node",
	done:     `^\{"type":"turn\.completed"`,
	failed:   `^\{"type":"turn\.failed"`,
	codes:    map[int]int{401: 1, 429: 1, 500: 1},
	retry:    `^\{"type":"error"`,
	tool:     shell("exec_command", "cmd"),
}

// codexConfig has one retry, which is enough to see that a retry of Codex's own is no continuation of ours; its defaults
// take it half a minute.
const codexConfig = `model = "mock-model"
model_provider = "mock"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.mock]
name = "mock"
base_url = "%s/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
stream_max_retries = 1
request_max_retries = 0
`
