package main

import (
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/supervise/turn"
)

func (own *ownService) presetFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&own.presets, "preset", nil, "run this built-in service too, `hermes-gateway|hermes-serve`; may be given again")
}

// withPresets is the configuration with a service more for each preset of `run --preset`: what a [[service]] of its name alone
// in hermes.toml would be.
func (own ownService) withPresets(cfg config.Config) (config.Config, error) {
	for _, name := range own.presets {
		s, err := config.PresetService(name, cfg.Restart)
		if err != nil {
			return cfg, &turn.UsageError{Problem: "--preset " + err.Error()}
		}
		cfg.Services = append(cfg.Services, own.here(s))
	}
	return cfg, nil
}

// startable refuses what the command line wants run and is not installed: whoever typed it is there to mend it, while a
// service of hermes.toml is tried again and again, since its program may come back in an update.
func (own ownService) startable(cfg config.Config) error {
	var programs []string
	for _, s := range cfg.Services[len(cfg.Services)-len(own.presets):] {
		programs = append(programs, s.Command[0])
	}
	if len(own.argv) > 0 {
		programs = append(programs, own.argv[0])
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return &turn.UsageError{Problem: fmt.Sprintf("run %s: no such program", program)}
		}
	}
	return nil
}
