package main

import (
	"context"
	"path/filepath"
)

// Aider. It asks for the prices of models on the network where it has none that are a day old, so it has them.
var aider = agent{
	preset: "aider",
	slow:   true,
	install: func(ctx context.Context, dir string) (string, error) {
		return pipAgent(ctx, filepath.Join(dir, "aider"), "aider-chat", "0.86.2", "aider")
	},
	settle: func(t *trial) (setup, error) {
		needs := setup{
			args: []string{
				"--model", "openai/mock-model", "--analytics-disable", "--no-show-model-warnings", "--no-git", "--no-gitignore",
			},
			env: map[string]string{
				"OPENAI_API_BASE":              t.model.URL() + "/v1",
				"OPENAI_API_KEY":               "dummy",
				"LITELLM_LOCAL_MODEL_COST_MAP": "True",
			},
		}
		return needs, writeJSON(filepath.Join(t.user(), ".aider", "caches", "model_prices_and_context_window.json"), map[string]any{
			"openai/mock-model": map[string]any{
				"max_input_tokens": 200000, "max_output_tokens": 8000, "litellm_provider": "openai", "mode": "chat",
			},
		})
	},
	native: "python",
	prompt: first,
	done:   `^Tokens: \S+ sent, \S+ received\.`,
	failed: `^litellm\.\w+Error: `,
	codes:  map[int]int{401: 0}, // anything else it tries again for minutes, and says so
}
