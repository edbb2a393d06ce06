package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A shell waits for its completion with the person at it: reading ends after readWait with what has been found, and a home that
// hangs costs completeWait and completes nothing.
const (
	readWait     = 500 * time.Millisecond
	completeWait = time.Second
)

// completeName is the command that the scripts of `completion` call. It is not one of the tree: whatever it is given, it
// prints candidates or nothing, and its exit code is 0.
const completeName = "__complete"

// candidate is one word that may stand where the cursor is.
type candidate struct {
	text string
	tip  string // what it is; "" for what is only a name
}

// What the shell is to offer, the first line of an answer.
const (
	offerWords   = "words"
	offerFiles   = "files"
	offerFolders = "folders"
)

// completion answers one request of a shell.
type completion struct {
	app   *app
	root  *cobra.Command
	until time.Time // no further record is read
}

// complete serves `__complete SHELL …`, see the scripts in shell/ for what each gives and takes.
func (a *app) complete(args []string) {
	var out bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if recover() != nil { // which would print into the person's command line
				out.Reset()
			}
		}()
		c := &completion{app: a, root: a.command(), until: time.Now().Add(readWait)}
		c.root.SetOut(io.Discard)
		c.root.SetErr(io.Discard)
		c.answer(&out, args)
	}()
	select {
	case <-done:
		_, _ = a.stdout.Write(out.Bytes())
	case <-time.After(completeWait): // out is still being written
	}
}

func (c *completion) answer(out *bytes.Buffer, args []string) {
	shell, rest := "", args
	if len(args) > 0 {
		shell, rest = args[0], args[1:]
	}
	switch {
	case shell == "bash" && len(rest) == 2:
		c.bash(out, rest[0], rest[1])
	case shell == "zsh" && len(rest) > 0:
		offer, found := c.candidates(rest[1:], unquoted(rest[0]))
		record(out, offer)
		for _, one := range found {
			record(out, one.text)
			record(out, one.tip)
		}
	case shell == "fish" && len(rest) > 0:
		offer, found := c.candidates(rest[1:], unquoted(rest[0]))
		record(out, offer)
		for _, one := range found {
			if !strings.ContainsRune(one.text, '\t') { // fish parts word and tip there
				record(out, strings.TrimSuffix(one.text+"\t"+one.tip, "\t"))
			}
		}
	case shell == "powershell":
		c.powershell(out, strings.Split(os.Getenv(powershellVar), "\x1f"))
	}
}

// unquoted is the text of the word at the cursor, whose last quote may be open.
func unquoted(raw string) string {
	w := shellWord{getenv: os.Getenv}
	w.read(raw, "")
	return w.text.String()
}

// record ends with NUL: a session's key may hold all else.
func record(out *bytes.Buffer, text string) {
	out.WriteString(text)
	out.WriteByte(0)
}

// bash gets the line up to the cursor, and the part of its last word that bash will replace: what comes after the last quote
// or unquoted character of COMP_WORDBREAKS, where a key like agent:main has some. Each candidate is quoted for its place.
func (c *completion) bash(out *bytes.Buffer, line, replaced string) {
	words, raw := lineWords(line, os.Getenv)
	if len(words) == 0 || !strings.HasSuffix(raw, replaced) {
		return
	}
	whole, kept := shellWord{getenv: os.Getenv}, shellWord{getenv: os.Getenv}
	whole.read(raw, "")
	kept.read(strings.TrimSuffix(raw, replaced), "")
	offer, found := c.candidates(words[1:], whole.text.String())
	fmt.Fprintln(out, offer)
	for _, one := range found {
		if rest, fits := strings.CutPrefix(one.text, kept.text.String()); fits {
			fmt.Fprintln(out, bashWord(rest, kept.raw == "", kept.quote))
		}
	}
}

// powershellVar has the words for PowerShell, the one at the cursor last: before 7.3 it loses empty arguments and quotes.
const powershellVar = "HERMES_SUPERVISOR_COMPLETE"

// powershell answers in JSON of ASCII alone: PowerShell reads a program's output in the code page of the console.
func (c *completion) powershell(out *bytes.Buffer, words []string) {
	type item struct {
		Text string `json:"text"`
		List string `json:"list"`
		Tip  string `json:"tip"`
	}
	last := len(words) - 1
	offer, found := c.candidates(words[:last], words[last])
	items := make([]item, 0, len(found))
	for _, one := range found {
		tip := one.tip
		if tip == "" {
			tip = printable(one.text)
		}
		items = append(items, item{powershellWord(one.text), printable(one.text), tip})
	}
	data, err := json.Marshal(map[string]any{"offer": offer, "candidates": items})
	if err != nil {
		return
	}
	for _, r := range string(data) {
		switch {
		case r < 0x80:
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(out, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(out, `\u%04x`, r)
		}
	}
}

// candidates are what may stand at the cursor, after the words before it; current is the word up to the cursor.
func (c *completion) candidates(words []string, current string) (offer string, found []candidate) {
	c.root.InitDefaultHelpCmd()
	cmd, rest, err := c.root.Find(words)
	if err != nil {
		return offerWords, nil
	}
	if cmd.DisableFlagParsing { // an agent's own command line
		return offerFiles, nil
	}
	cmd.InitDefaultHelpFlag()
	if slices.Contains(rest, "--") {
		_ = cmd.ParseFlags(rest)
		if cmd.ArgsLenAtDash() >= 0 && !takesKeys(cmd) { // a command line of an agent or service
			return offerFiles, nil
		}
	}
	dash := slices.Contains(rest, "--")
	if flag := pendingFlag(cmd, rest); flag != nil {
		_ = cmd.ParseFlags(rest[:len(rest)-1])
		return c.values(cmd, placeholder(flag), "", current)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return offerWords, nil
	}
	if name, value, joined := strings.Cut(current, "="); joined && !dash && strings.HasPrefix(name, "--") {
		flag := cmd.Flags().Lookup(name[2:])
		if flag == nil {
			return offerWords, nil
		}
		return c.values(cmd, placeholder(flag), name+"=", value)
	}
	if strings.HasPrefix(current, "-") && !dash {
		return offerWords, flagNames(cmd, current)
	}
	n := cmd.Flags().NArg()
	if cmd.HasSubCommands() {
		if n > 0 {
			return offerWords, nil
		}
		return offerWords, commandNames(cmd, current)
	}
	args := arguments(cmd)
	switch {
	case len(args) == 0:
		return offerWords, nil
	case n >= len(args) && strings.HasSuffix(args[len(args)-1], "…"):
		n = len(args) - 1
	case n >= len(args):
		return offerWords, nil
	}
	offer, found = c.values(cmd, strings.TrimSuffix(args[n], "…"), "", current)
	given := cmd.Flags().Args()
	found = slices.DeleteFunc(found, func(one candidate) bool {
		return !dash && strings.HasPrefix(one.text, "-") || slices.Contains(given, one.text)
	})
	return offer, found
}

// takesKeys says whether what follows -- are arguments of ours, and not of a program to run.
func takesKeys(cmd *cobra.Command) bool { return !strings.Contains(cmd.Use, "-- ") }

// pendingFlag is the flag whose value comes next.
func pendingFlag(cmd *cobra.Command, rest []string) *pflag.Flag {
	if len(rest) == 0 || slices.Contains(rest, "--") {
		return nil
	}
	_ = cmd.ParseFlags(nil) // which brings in the flags of the parents
	last := rest[len(rest)-1]
	var flag *pflag.Flag
	switch {
	case strings.HasPrefix(last, "--") && !strings.Contains(last, "="):
		flag = cmd.Flags().Lookup(last[2:])
	case len(last) == 2 && last[0] == '-':
		flag = cmd.Flags().ShorthandLookup(last[1:])
	}
	if flag == nil || flag.NoOptDefVal != "" {
		return nil
	}
	return flag
}

// placeholder is the word that stands for a flag's value in its help.
func placeholder(flag *pflag.Flag) string {
	name, _ := pflag.UnquoteUsage(flag)
	return name
}

// arguments are the placeholders of a command's arguments, in its Use line, which is thus what completion goes by: "show
// KEY", "signal NAME[@PROFILE] SIGNAL", "resume [KEY… | --all]".
func arguments(cmd *cobra.Command) []string {
	_, use, _ := strings.Cut(cmd.Use, " ")
	var args []string
	words := strings.Fields(use)
	for i := 0; i < len(words); i++ {
		word := strings.Trim(words[i], "()")
		if !strings.Contains(word, "[@") {
			word = strings.Trim(word, "[]")
		}
		switch {
		case word == "--":
			return args
		case strings.HasPrefix(word, "-"):
			if i+1 < len(words) && unicode.IsUpper(rune(words[i+1][0])) {
				i++ // its value
			}
		case word != "" && unicode.IsUpper(rune(word[0])):
			args = append(args, word)
		}
	}
	return args
}

func flagNames(cmd *cobra.Command, begins string) (found []candidate) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := "--" + f.Name
		if f.Hidden || f.Deprecated != "" || f.Changed || !strings.HasPrefix(name, begins) {
			return
		}
		_, usage := pflag.UnquoteUsage(f)
		found = append(found, candidate{name, usage})
	})
	return found
}

func commandNames(cmd *cobra.Command, begins string) (found []candidate) {
	for _, sub := range cmd.Commands() {
		if (sub.IsAvailableCommand() || sub.Name() == "help") && strings.HasPrefix(sub.Name(), begins) {
			found = append(found, candidate{sub.Name(), sub.Short})
		}
	}
	return found
}
