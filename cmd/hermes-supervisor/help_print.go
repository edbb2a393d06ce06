package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hermes-supervisor/supervise/turn"
)

// helpWidth is how many columns help takes at most.
const helpWidth = 100

// helpCommand is cobra's, except that a topic that there is not is a usage error.
func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND…]",
		Short: "Show the help of a command or topic",
		Long: `Shows what --help shows. The topics, which are no commands, are exit-codes and files. With --json it prints the help as
data, with that of all commands below: what the man pages are made of.`,
		Example: `  hermes-supervisor help turn run
  hermes-supervisor help exit-codes
  hermes-supervisor help --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if topic == nil || err != nil {
				return &turn.UsageError{Problem: fmt.Sprintf("no help for %q", strings.Join(args, " "))}
			}
			if err := unknownCommand(topic, rest); err != nil {
				return err
			}
			if a.json {
				return a.printHelpJSON(topic)
			}
			topic.InitDefaultHelpFlag()
			return a.printHelp(topic)
		},
	}
}

// printHelp is what --help prints.
func (a *app) printHelp(cmd *cobra.Command) error {
	if a.json {
		return a.printHelpJSON(cmd)
	}
	if text := cmd.Long + cmd.Short; text != "" {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), fill(strings.Trim(orShort(cmd), "\n"), helpWidth)); err != nil {
			return err
		}
	}
	if !cmd.Runnable() && !cmd.HasSubCommands() {
		return nil
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout()); err != nil {
		return err
	}
	return printUsage(cmd)
}

func orShort(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

// printUsage is what follows the description. cobra's own knows no exit codes, and to give it a template links text/template,
// which with its reflection keeps every method of every type in the program.
func printUsage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if !cmd.HasAvailableSubCommands() {
		b.WriteString("\n" + hang("  "+cmd.UseLine(), 6))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n  %s [command]", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\n\nExamples:\n%s", cmd.Example)
	}
	listCommands(&b, "Available Commands", cmd, func(sub *cobra.Command) bool { return sub.IsAvailableCommand() || sub.Name() == "help" })
	if flags := cmd.LocalFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(&b, "\n\nFlags:\n%s", flagUsages(flags))
	}
	if flags := cmd.InheritedFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(&b, "\n\nGlobal Flags:\n%s", flagUsages(flags))
	}
	if hasDuration(cmd) {
		b.WriteString("\n\nA duration is written as 90s, 15m or 1h30m.")
	}
	if exits := exitsOf(below(cmd)); len(exits) > 0 {
		b.WriteString("\n\nExit codes:")
		for _, e := range exits {
			fmt.Fprintf(&b, "\n%s", hang(fmt.Sprintf("  %-7s%s", e, e.means), 9))
		}
	}
	listCommands(&b, "Additional help topics", cmd, (*cobra.Command).IsAdditionalHelpTopicCommand)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\nUse \"%s [command] --help\" for more about a command.", cmd.CommandPath())
	}
	b.WriteString("\n")
	_, err := io.WriteString(cmd.OutOrStdout(), b.String())
	return err
}

// listCommands lists those commands below cmd that are meant.
func listCommands(b *strings.Builder, title string, cmd *cobra.Command, meant func(*cobra.Command) bool) {
	for _, sub := range cmd.Commands() {
		if !meant(sub) {
			continue
		}
		if title != "" {
			fmt.Fprintf(b, "\n\n%s:", title)
			title = ""
		}
		fmt.Fprintf(b, "\n%s", hang(fmt.Sprintf("  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short), sub.NamePadding()+3))
	}
}

func flagUsages(flags *pflag.FlagSet) string {
	text := strings.TrimRight(flags.FlagUsagesWrapped(helpWidth), "\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.NoOptDefVal == "" || f.Value.Type() == "bool" {
			return
		}
		// A value that may be left out stands behind =, and what is meant then is in the text.
		was, is := fmt.Sprintf("%s %s[=%q]", f.Name, placeholder(f), f.NoOptDefVal), fmt.Sprintf("%s[=%s]", f.Name, placeholder(f))
		text = strings.ReplaceAll(text, was, fmt.Sprintf("%-*s", len(was), is))
	})
	return text
}

// hasDuration says whether a command has a flag whose value is a time span.
func hasDuration(cmd *cobra.Command) (has bool) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { has = has || strings.EqualFold(placeholder(f), "duration") })
	return has
}

// below is the path of a command below the root: "turn run".
func below(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path
}

// fill fills the lines of each paragraph up to a width. A line that begins with a space is kept as it is, but for the width,
// and so is one that begins a list ("- ") or quotes JSON. One that stands in the column in which the line above goes on
// belongs to it.
func fill(text string, width int) string {
	var b strings.Builder
	var paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			b.WriteString(broken(strings.Join(paragraph, " "), 0, width) + "\n")
			paragraph = nil
		}
	}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case line == "":
			flush()
			b.WriteString("\n")
		case line[0] == ' ':
			flush()
			column := hangOf(line)
			for column > indentOf(line) && i+1 < len(lines) && indentOf(lines[i+1]) == column {
				i++
				line += " " + lines[i][column:]
			}
			b.WriteString(broken(line, column, width) + "\n")
		default:
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return strings.TrimRight(b.String(), "\n")
}

// hangOf is the column in which a line of a list goes on: behind the last gap of two spaces in it.
func hangOf(line string) int {
	indent := indentOf(line)
	if gap := strings.LastIndex(line, "  "); gap > indent {
		return utf8.RuneCountInString(line[:gap]) + 2
	}
	return indent
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// hang is one line, broken at the width, which goes on in a column.
func hang(line string, column int) string { return broken(line, column, helpWidth) }

func broken(line string, column, width int) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.SplitAfter(line, " ") {
		n := utf8.RuneCountInString(strings.TrimRight(word, " "))
		if i > 0 && n > 0 && at+n > width && at > column {
			b.WriteString("\n" + strings.Repeat(" ", column))
			at = column
		}
		b.WriteString(word)
		at += utf8.RuneCountInString(word)
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
