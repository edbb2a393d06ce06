package main

import (
	"context"
	"path/filepath"
)

// opencode.
var opencode = agent{
	preset: "opencode",
	slow:   true,
	install: func(ctx context.Context, dir string) (bin string, err error) {
		const name, version = "opencode-ai", "1.18.33"
		dir = filepath.Join(dir, "npm")
		if err := npmInstall(ctx, dir, name, version); err != nil {
			return "", err
		}
		// The package's own program is put in place by its install script, which is not run: it takes the first of these
		// that runs on this processor.
		for _, build := range []string{"", "-baseline"} {
			bin = filepath.Join(dir, "node_modules", "opencode-"+nodePlatform()+build, "bin")
			if err = answers(ctx, filepath.Join(bin, "opencode"), version); err == nil {
				break
			}
		}
		return bin, err
	},
	settle: func(t *trial) (setup, error) {
		needs := setup{
			args: []string{"--auto"},
			env: map[string]string{
				"OPENCODE_DISABLE_AUTOUPDATE":   "1",
				"OPENCODE_DISABLE_MODELS_FETCH": "1",
				"OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
			},
		}
		return needs, writeJSON(filepath.Join(t.user(), ".config", "opencode", "opencode.json"), map[string]any{
			"model": "mock/mock-model", "small_model": "mock/mock-model", "share": "disabled", "autoupdate": false,
			"provider": map[string]any{"mock": map[string]any{
				"npm":     "@ai-sdk/openai-compatible",
				"options": map[string]any{"baseURL": t.model.URL() + "/v1", "apiKey": "dummy"},
				"models":  map[string]any{"mock-model": map[string]any{}},
			}},
		})
	},
	native: "opencode",
	done:   `^\{"type":"step_finish",.*"reason":"stop"`,
	failed: `^\{"type":"error",`,
	codes:  map[int]int{401: 1},
	silent: []int{429, 500},
	tool:   shell("bash", "command"),
}
