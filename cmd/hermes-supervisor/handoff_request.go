package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/turn"
)

// requestFlags are the flags of `handoff request`.
type requestFlags struct {
	waitFlags

	note, data, key string
	afterTurn       bool
}

func (a *app) handoffRequestCommand() *cobra.Command {
	f := &requestFlags{}
	cmd := &cobra.Command{
		Use:   "request SESSION PLATFORM",
		Short: "Ask that a session goes on at another platform",
		Long: `Records the handoff; run, "handoff watch" or a program that serves the platform delivers it. A session has one open
handoff: another request is refused with exit code 75 until it has ended. So is a request while a turn of the session is
open, unless --after-turn waits for its end.

--wait reports how it goes: at most --claim-wait until somebody claims it, then at most the given time (15m where --wait
stands alone) until it has ended. When that runs out, the exit code is 124 and the request stands.`,
		Example: `  hermes-supervisor handoff request agent:main:cli telegram --note "Going out" --wait
  hermes-supervisor handoff request fix-tests desk --data report.md --key "$(date +%F)" --wait 5m`,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, err := f.words(args, 2)
			if err != nil {
				return err
			}
			if len(words) != 2 {
				return &turn.UsageError{Problem: fmt.Sprintf("request takes a session and a platform, not %d words", len(words))}
			}
			return a.handoffRequest(cmd, f, words[0], words[1])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.note, "note", "", "`TEXT` that the other side is told")
	flags.StringVar(&f.data, "data", "", "hand over the text of `FILE`, - for stdin")
	flags.StringVar(&f.key, "key", "", "`NAME` of this request: given again while it is kept, it is the same request, however that stands")
	flags.BoolVar(&f.afterTurn, "after-turn", false, "wait for the end of the session's open turn, instead of being refused")
	f.register(cmd)
	return cmd
}

func (a *app) handoffRequest(cmd *cobra.Command, f *requestFlags, session, platform string) error {
	data, err := a.readData(f.data)
	if err != nil {
		return err
	}
	r, err := a.open()
	if err != nil {
		return err
	}
	defer r.Store.Close() //nolint:errcheck // a directory handle
	q := a.queueOf(r)
	h, repeated, err := q.Request(cmd.Context(), handoff.Request{
		Session: session, Platform: platform, Note: f.note, Data: data, Key: f.key, AfterTurn: f.afterTurn,
	})
	if err != nil {
		return err
	}
	if repeated && !a.json {
		a.say("--key %s: this request was recorded before", word(f.key))
	}
	return a.awaitHandoff(cmd.Context(), &f.waitFlags, q, h)
}

func (a *app) readData(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	in := a.stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return "", &turn.UsageError{Problem: "read --data: " + err.Error()}
		}
		defer opened.Close() //nolint:errcheck // read only
		in = opened
	}
	data, err := io.ReadAll(io.LimitReader(in, fsstate.MaxRecord+1))
	if err != nil {
		return "", &turn.UsageError{Problem: "read --data: " + err.Error()}
	}
	if len(data) > fsstate.MaxRecord {
		return "", &turn.UsageError{Problem: fmt.Sprintf("read --data: more than %d bytes", fsstate.MaxRecord)}
	}
	return string(data), nil
}
