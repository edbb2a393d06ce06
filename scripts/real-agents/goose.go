package main

import (
	"context"
	"path/filepath"
)

// goose. The npm package of its ACP server has the command line program as a dependency.
var goose = agent{
	preset: "goose",
	install: func(ctx context.Context, dir string) (string, error) {
		if err := npmInstall(ctx, filepath.Join(dir, "goose"), "@aaif/goose-acp", "1.50.0"); err != nil {
			return "", err
		}
		bin := filepath.Join(dir, "goose", "node_modules", "@aaif", "goose-binary-"+nodePlatform(), "bin")
		return bin, answers(ctx, filepath.Join(bin, "goose"), "1.50.0")
	},
	settle: func(t *trial) (setup, error) {
		return setup{env: map[string]string{
			"GOOSE_DISABLE_KEYRING":   "1",
			"GOOSE_PROVIDER":          "openai",
			"GOOSE_MODEL":             "mock-model",
			"GOOSE_MODE":              "auto",
			"GOOSE_TELEMETRY_ENABLED": "false",
			"OPENAI_HOST":             t.model.URL(),
			"OPENAI_API_KEY":          "dummy",
		}}, nil
	},
	native: "goose",
	prompt: first,
	done:   `^\{"type":"complete","total_tokens":[1-9]`,
	failed: `^\{"type":"complete","total_tokens":(0|null)`,
	codes:  map[int]int{401: 0, 429: 0, 500: 0},
	tool:   shell("shell", "command"),
}
