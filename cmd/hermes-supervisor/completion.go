package main

import (
	_ "embed"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hermes-supervisor/supervise/turn"
)

// shells are those that completion knows.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// The scripts are ours and not cobra's: its script for bash runs what stands on the line before the cursor (eval) and needs
// the bash-completion package, and none of its scripts completes a word that holds a newline.
var (
	//go:embed shell/completion.bash
	bashScript string
	//go:embed shell/completion.zsh
	zshScript string
	//go:embed shell/completion.fish
	fishScript string
	//go:embed shell/completion.ps1
	powershellScript string
)

func (a *app) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script that completes this program's command lines in a shell",
		Long: `Prints a script for bash (3.2 and later), zsh, fish or powershell. With it the Tab key completes commands, flags, and
what is there: the keys of sessions, the ids of handoffs, services, agents, platforms, profiles. It only reads, takes a
second at the very most, and never prints an error.

To have it in every shell, put the line of the example into ~/.bashrc, ~/.zshrc (after compinit) or
~/.config/fish/config.fish. For PowerShell, put this line into the file that $PROFILE names:
    hermes-supervisor completion powershell | Out-String | Invoke-Expression`,
		Example: `  source <(hermes-supervisor completion bash)
  source <(hermes-supervisor completion zsh)
  hermes-supervisor completion fish | source`,
		Args: oneShell,
		RunE: func(_ *cobra.Command, args []string) error {
			_, err := io.WriteString(a.stdout, script(args[0]))
			return err
		},
	}
}

func oneShell(_ *cobra.Command, args []string) error {
	if len(args) != 1 || !slices.Contains(shells, args[0]) {
		return &turn.UsageError{Problem: "completion takes one of " + strings.Join(shells, ", ")}
	}
	return nil
}

func script(shell string) string {
	switch shell {
	case "zsh":
		return zshScript
	case "fish":
		return fishScript
	case "powershell":
		return powershellScript
	}
	return bashScript
}
