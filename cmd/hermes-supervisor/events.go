package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/process"
)

func (a *app) eventsCommand() *cobra.Command {
	var follow bool
	var lines int
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Show what happened: every transition of turns, services and handoffs",
		Long: `Prints the journal of the home, oldest first, one line for each transition. It never holds what an agent was asked.
With --json, each line is the journal's own (JSON lines).`,
		Example: `  hermes-supervisor events -f`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := a.resolveHome()
			if err != nil {
				return err
			}
			store, err := fsstate.OpenRead(home)
			if errors.Is(err, fs.ErrNotExist) {
				return nil // nothing has happened here
			}
			if err != nil {
				return err
			}
			defer store.Close() //nolint:errcheck // a directory handle
			return a.events(cmd.Context(), store, lines, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on printing what happens, until Ctrl-C")
	cmd.Flags().IntVarP(&lines, "lines", "n", 50, "`COUNT` of the last lines to begin with")
	return cmd
}

// events prints the end of the journal, and what is added to it.
func (a *app) events(ctx context.Context, store *fsstate.Store, last int, follow bool) error {
	var tail []string
	for _, file := range []string{fsstate.OldJournalFile, fsstate.JournalFile} {
		data, _, err := fsstate.ReadFile(store.Path("", file), 2*fsstate.MaxJournal)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for line := range strings.Lines(string(data)) {
			tail = append(tail, strings.TrimSuffix(line, "\n"))
		}
	}
	if len(tail) > last {
		tail = tail[len(tail)-max(last, 0):]
	}
	for _, line := range tail {
		if err := a.event(line); err != nil {
			return err
		}
	}
	if !follow {
		return nil
	}
	return a.followEvents(ctx, store.Path("", fsstate.JournalFile))
}

// followEvents reads on from the end of the journal, over its change.
func (a *app) followEvents(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	r := bufio.NewReader(f)
	part := ""
	for {
		text, err := r.ReadString('\n')
		part += text
		if err == nil {
			if err := a.event(part[:len(part)-1]); err != nil {
				return err
			}
			part = ""
			continue
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		if err := process.Pause(ctx, 100*time.Millisecond); err != nil {
			return nil // the end of following
		}
		now, err := os.Stat(path)
		if err != nil {
			continue // between two journals
		}
		if open, err := f.Stat(); err == nil && !os.SameFile(open, now) {
			next, err := os.Open(path)
			if err != nil {
				continue
			}
			_ = f.Close()
			f, part = next, ""
			r.Reset(f)
		}
	}
}

// event prints one line of the journal; one that is no JSON (cut short by a kill) is passed over.
func (a *app) event(line string) error {
	var e fsstate.Event
	if json.Unmarshal([]byte(line), &e) != nil {
		return nil //nolint:nilerr // a cut line
	}
	if a.json {
		_, err := fmt.Fprintln(a.stdout, line)
		return err
	}
	_, err := fmt.Fprintln(a.stdout, e.Time.Local().Format(time.DateTime)+"  "+eventText(e))
	return err
}

// eventText is a line of the journal for people, without its time.
func eventText(e fsstate.Event) string {
	who := e.Service
	if who == "" {
		who = e.Session
	}
	who = printable(who)
	switch {
	case e.Handoff != "" && e.Session != "":
		who = fmt.Sprintf("%s %s to %s:", e.Handoff, who, printable(e.Platform))
	case e.Handoff != "":
		who = e.Handoff
	}
	text := fmt.Sprintf("%-9s %-24s", e.Kind, who)
	if e.From != "" && e.From != e.To {
		text += " " + e.From + " ->"
	}
	text += " " + e.To
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	if e.Code != nil {
		text += fmt.Sprintf(" code %d", *e.Code)
	}
	return shown(text)
}
