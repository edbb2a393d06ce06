package main

import (
	"context"
	"path/filepath"
)

// Claude Code, the newest version that runs on Node 20.
var claude = agent{
	preset: "claude",
	install: func(ctx context.Context, dir string) (string, error) {
		// The package's own program is put in place by its install script, which is not run.
		const name, version = "@anthropic-ai/claude-code", "2.1.197"
		dir = filepath.Join(dir, "npm")
		if err := npmInstall(ctx, dir, name, version); err != nil {
			return "", err
		}
		bin := filepath.Join(dir, "node_modules", filepath.FromSlash(name)+"-"+nodePlatform())
		return bin, answers(ctx, filepath.Join(bin, "claude"), version+" (Claude Code)")
	},
	settle: func(t *trial) (setup, error) {
		return setup{
			args: []string{"--allowedTools", "Bash"},
			env: map[string]string{
				"CLAUDE_CONFIG_DIR":                        filepath.Join(t.dir, "claude"),
				"ANTHROPIC_BASE_URL":                       t.model.URL(),
				"ANTHROPIC_API_KEY":                        "dummy",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
				"DISABLE_AUTOUPDATER":                      "1",
				"CLAUDE_CODE_MAX_RETRIES":                  "1", // by default it tries for minutes
				"IS_SANDBOX":                               "1", // it may be root who tests
			},
		}, nil
	},
	native: "claude",
	done:   `^\{"type":"result",.*"is_error":false`,
	failed: `^\{"type":"result",.*"is_error":true`,
	codes:  map[int]int{401: 1, 429: 1, 500: 1},
	forget: true,
	stray:  prefixed("HEAD /"),
	tool:   shell("Bash", "command"),
}
