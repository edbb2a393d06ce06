package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// Hermes from PyPI, whose newest version has no `hermes chat --query-file` yet.
var hermes = agent{
	preset: "hermes-argv",
	slow:   true,
	install: func(ctx context.Context, dir string) (string, error) {
		return pipAgent(ctx, filepath.Join(dir, "hermes"), "hermes-agent", "0.19.0", "hermes")
	},
	settle: func(t *trial) (setup, error) {
		return setup{env: map[string]string{"OPENAI_API_KEY": "dummy"}},
			writeFile(filepath.Join(t.home, "config.yaml"), fmt.Sprintf(hermesConfig, t.model.URL()))
	},
	native: "python",
	prompt: first,
	done:   `^The work is done\.$`,
	failed: `^(HTTP \d{3}: |API call failed after \d+ retries: )`,
	codes:  map[int]int{401: 1, 429: 1, 500: 1},
	stray:  func(string) bool { return true }, // it tries to find out what kind of server it has
	tool:   shell("terminal", "command"),
}

const hermesConfig = `model:
  default: mock-model
  provider: custom
  base_url: %s/v1
  api_key: dummy
  context_length: 200000
agent:
  api_max_retries: 1
security:
  tirith_enabled: false
`
