package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/config"
)

func (a *app) checkCommand() *cobra.Command {
	var secrets bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check hermes.toml and print what is in force",
		Long: `Reads hermes.toml as the other commands do and prints it resolved: with every default, ~ and variables expanded. What it
prints is TOML that loads to the same configuration, but for the secrets: "***" stands for the values of variables,
arguments and URLs whose names look like a secret's (TOKEN, KEY, SECRET, PASSWORD). What an env file holds is never printed.

A fault is exit code 78 and one line that names file, line and key. Nothing is written or started; whether the programs are
there is not looked at.`,
		Example: `  hermes-supervisor check
  hermes-supervisor check -c ./hermes.toml --json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, source, err := a.load(config.Load)
			if err != nil {
				return err
			}
			if !secrets {
				cfg = cfg.WithoutSecrets()
			}
			_, err = os.Stat(source.Path)
			missing := source.Path == "" || errors.Is(err, fs.ErrNotExist)
			if a.json {
				tree, err := cfg.Tree()
				if err != nil {
					return err
				}
				return a.printJSON(map[string]any{"file": source.Path, "exists": !missing, "config": tree})
			}
			text, err := cfg.TOML()
			if err != nil {
				return err
			}
			heading := printable(source.Path)
			switch {
			case source.Path == "":
				heading = "no hermes.toml: these are the defaults"
			case missing:
				heading += " does not exist: these are the defaults"
			}
			_, err = fmt.Fprintf(a.stdout, "# %s\n\n%s", heading, text)
			return err
		},
	}
	cmd.Flags().BoolVar(&secrets, "show-secrets", false, "print the values of secrets too")
	return cmd
}
