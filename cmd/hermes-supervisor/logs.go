package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/supervise/output"
	"hermes-supervisor/supervise/turn"
)

// logsOptions are the flags of logs.
type logsOptions struct {
	follow bool
	lines  int
	stream string
}

func (a *app) logsCommand() *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:   "logs NAME[@PROFILE]",
		Short: "Show what a service printed",
		Long: `Prints the last lines of a service's stdout, then those of its stderr, each with "err | " before it, and with -f what
comes then, over restarts, until Ctrl-C. A line is printed when it is finished. --stream prints one of the two alone, byte
for byte. It reads the files, so it works while run is down.`,
		Example: `  hermes-supervisor logs gateway -f
  hermes-supervisor logs gateway@office -n 200 --stream err`,
		Args: oneService,
		RunE: func(cmd *cobra.Command, args []string) error { return a.logs(cmd.Context(), args[0], o) },
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on printing what comes, until Ctrl-C (then exit 130)")
	cmd.Flags().IntVarP(&o.lines, "lines", "n", 50, "`COUNT` of the last lines of each stream to begin with")
	cmd.Flags().StringVar(&o.stream, "stream", "", "only this one of the two: `out|err`")
	return cmd
}

// logs leaves Ctrl-C and a reader that goes away to the signals that end every other such program: there is nothing to
// put in order.
func (a *app) logs(ctx context.Context, target string, o logsOptions) error {
	only := []output.Stream{output.Out, output.Err}
	switch s := output.Stream(o.stream); s {
	case "":
	case output.Out, output.Err:
		only = []output.Stream{s}
	default:
		return &turn.UsageError{Problem: fmt.Sprintf("--stream is out or err, not %q", o.stream)}
	}
	if o.lines < 0 {
		return &turn.UsageError{Problem: "-n is negative"}
	}
	log, store, err := a.openLog(target)
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // a directory handle
	p := &logPrinter{w: a.stdout, raw: len(only) == 1 && !a.json, json: a.json, held: map[output.Stream][]byte{}}
	if o.follow {
		err = log.Follow(ctx, o.lines, p.emit, only...)
		return errors.Join(err, p.flush(only...))
	}
	for _, s := range only { // one by one, so that an unfinished line stands where it belongs
		if err := log.Tail(o.lines, p.emit, s); err != nil {
			return err
		}
		if err := p.flush(s); err != nil {
			return err
		}
	}
	return nil
}

// openLog finds the output that NAME[@PROFILE] means.
func (a *app) openLog(target string) (*output.Log, *fsstate.Store, error) {
	home, err := a.resolveHome()
	if err != nil {
		return nil, nil, err
	}
	name, profile, _ := strings.Cut(target, "@")
	at := home
	if profile != "" && (profile != config.RootProfile || home.Profile != "") {
		if at, err = profileHome(home, profile); err != nil {
			return nil, nil, err
		}
	}
	store, err := fsstate.OpenRead(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, noOutput(target, home)
	}
	if err != nil {
		return nil, nil, err
	}
	log, err := output.OpenRead(store, name)
	if err == nil {
		return log, store, nil
	}
	_ = store.Close()
	if errors.Is(err, fs.ErrNotExist) {
		err = noOutput(target, home)
	}
	return nil, nil, err
}

// noOutput names what there is, as it can be given.
func noOutput(target string, home fsstate.Home) error {
	var known []string
	for _, h := range homesBelow(home) {
		store, err := fsstate.OpenRead(h)
		if err != nil {
			continue
		}
		names, _ := store.Logs() // it is only to help
		_ = store.Close()
		for _, name := range names {
			if h.Profile != home.Profile {
				name += "@" + h.Profile
			}
			known = append(known, name)
		}
	}
	return &turn.UsageError{Problem: fmt.Sprintf("no output of a service %s is kept in %s; there is that of: %s", label(target), home.Path, orNone(known))}
}

// maxHeld bounds an unfinished line that is kept back, in bytes; a longer one is broken there.
const maxHeld = 1 << 20

// logPrinter prints the bytes of two streams as lines that say which one they are of, or those of one as they are.
type logPrinter struct {
	w    io.Writer
	raw  bool
	json bool
	held map[output.Stream][]byte // unfinished lines
}

func (p *logPrinter) emit(s output.Stream, b []byte) error {
	if p.raw {
		_, err := p.w.Write(b)
		return err
	}
	var text bytes.Buffer
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		b = rest
		p.held[s] = append(p.held[s], line...)
		if whole || len(p.held[s]) > maxHeld {
			p.line(&text, s)
		}
	}
	_, err := p.w.Write(text.Bytes())
	return err
}

// flush prints what is unfinished.
func (p *logPrinter) flush(only ...output.Stream) error {
	var text bytes.Buffer
	for _, s := range only {
		if len(p.held[s]) > 0 {
			p.line(&text, s)
		}
	}
	_, err := p.w.Write(text.Bytes())
	return err
}

// line moves the held line of a stream to text.
func (p *logPrinter) line(text *bytes.Buffer, s output.Stream) {
	line := p.held[s]
	p.held[s] = line[:0]
	if p.json {
		_ = json.NewEncoder(text).Encode(map[string]any{"schema": schema, "stream": s, "text": string(line)}) // of texts only
		return
	}
	if s == output.Err {
		text.WriteString("err | ")
	}
	text.Write(line)
	text.WriteByte('\n')
}
