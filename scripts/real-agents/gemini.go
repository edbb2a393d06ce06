package main

import (
	"context"
	"path/filepath"
)

// Gemini CLI. Its exit code is the model's status modulo 256.
var gemini = agent{
	preset: "gemini",
	install: func(ctx context.Context, dir string) (string, error) {
		return npmAgent(ctx, dir, "@google/gemini-cli", "0.61.0", "gemini", "0.61.0")
	},
	settle: func(t *trial) (setup, error) {
		needs := setup{
			args: []string{"-m", "gemini-2.5-flash", "--skip-trust", "--approval-mode", "yolo"},
			env: map[string]string{
				"GEMINI_API_KEY":         "dummy",
				"GOOGLE_GEMINI_BASE_URL": t.model.URL(),
			},
		}
		return needs, writeJSON(filepath.Join(t.user(), ".gemini", "settings.json"), map[string]any{
			"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
			"privacy":  map[string]any{"usageStatisticsEnabled": false},
			"general":  map[string]any{"enableAutoUpdate": false, "maxAttempts": 1}, // by default it tries for a minute
		})
	},
	native: "node",
	done:   `^\{"type":"result",.*"status":"success"`,
	failed: `^\{"type":"result",.*"status":"error"`,
	codes:  map[int]int{401: 145, 429: 173, 500: 244},
	forget: true,
	tool:   shell("run_shell_command", "command"),
}
