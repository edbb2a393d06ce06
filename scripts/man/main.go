// Command man writes the man pages of hermes-supervisor: hermes-supervisor.1, one for each command that is not hidden
// (hermes-supervisor-turn-run.1), and hermes.toml.5. Their texts are the program's own, which it prints as data
// (`help --json`), and hermes.toml.example, so that no page says what the program does not.
//
//	go run ./scripts/man -o DIR                        from the root of the sources
//	go run ./scripts/man -o DIR -program ./hermes-supervisor
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// command is what `help --json` tells of a command or topic.
type command struct {
	Path     string    `json:"path"`
	Use      string    `json:"use"`
	Short    string    `json:"short"`
	Long     string    `json:"long"`
	Examples []string  `json:"examples"`
	Flags    []option  `json:"flags"`
	Exits    []exit    `json:"exit_codes"`
	Topic    bool      `json:"topic"`
	Hidden   bool      `json:"hidden"`
	Commands []command `json:"commands"`
}

type option struct {
	Name      string `json:"name"`
	Shorthand string `json:"shorthand"`
	Value     string `json:"value"`
	Default   string `json:"default"`
	Usage     string `json:"usage"`
}

type exit struct {
	Code  string `json:"code"`
	Means string `json:"means"`
}

func main() {
	out := flag.String("o", "man", "folder to write the pages to; it is made")
	program := flag.String("program", "", "hermes-supervisor to ask (default: go run ./cmd/hermes-supervisor)")
	config := flag.String("config", "hermes.toml.example", "the example that hermes.toml.5 is made of")
	flag.Parse()
	if err := write(*out, *program, *config); err != nil {
		fmt.Fprintf(os.Stderr, "man: %v\n", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func write(out, program, config string) error {
	argv := []string{"go", "run", "./cmd/hermes-supervisor"}
	if program != "" {
		argv = []string{program}
	}
	cmd := exec.Command(argv[0], append(argv[1:], "help", "--json")...) //nolint:noctx // it is as short as this program
	cmd.Stderr = os.Stderr
	data, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s help --json: %w", strings.Join(argv, " "), err)
	}
	var answer struct {
		Schema int     `json:"schema"`
		Help   command `json:"help"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return fmt.Errorf("decode help --json: %w", err)
	}
	if answer.Schema != 1 {
		return fmt.Errorf("help --json has schema %d, this program knows 1", answer.Schema)
	}
	example, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	all := pages(answer.Help)
	all["hermes.toml.5"] = configPage(string(example))
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // pages that everybody reads
		return err
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o644); err != nil { //nolint:gosec // the same
			return err
		}
	}
	return nil
}
