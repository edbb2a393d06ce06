package follow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/process"
)

// Bounds of a command that is told something.
const (
	maxSaidLine = 300
	maxSaid     = 2 << 10                // of its output, for the log
	saidWait    = 100 * time.Millisecond // for output after its end
	endTimeout  = 5 * time.Second        // for its tree to end
)

// tell runs the command with a notice on its stdin and returns when nothing of it is left. The error says in one line what
// went wrong, with the last of what the command printed.
func (f *Follower) tell(ctx context.Context, n Notify, notice Notice, instance string) error {
	data, err := json.Marshal(notice)
	if err != nil {
		return err
	}
	in, err := inputOf(append(data, '\n'))
	if err != nil {
		return err
	}
	output, out, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close())
	}
	child, err := f.Host.Start(process.Spec{
		Argv: n.Command, Dir: "/", Env: environment(os.Environ(), n.Unset, instance), Stdin: in, Stdout: out, Stderr: out,
	})
	_, _ = in.Close(), out.Close()
	defer output.Close() //nolint:errcheck // a pipe; what still writes into it finds nobody
	if err != nil {
		return err
	}
	tree := process.Tree{Instance: instance, Leader: ident.Launched(child.PID(), ident.Unlaunched(f.Self, instance)), Host: f.Host}
	said := make(chan string, 1)
	go func() { said <- lastOf(output) }()
	if err := child.Resume(); err != nil {
		_ = tree.End(ctx, process.KillLadder())
		return err
	}
	late := time.NewTimer(n.Timeout)
	defer late.Stop()
	var why error
	select {
	case <-child.Done():
	case <-late.C:
		why = fmt.Errorf("took longer than %s and was ended", n.Timeout)
	case <-ctx.Done():
		select {
		case <-child.Done():
		default:
			why = errCut
		}
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	ladder := process.KillLadder()
	if ctx.Err() != nil {
		ladder = ladder[len(ladder)-1:] // nobody waits for it any more
	}
	left := tree.End(ending, ladder)
	exit := child.Exit()
	switch {
	case why != nil:
	case exit.Code != 0 || exit.Signaled:
		why = errors.New(exit.String())
	case left != nil:
		return left
	default:
		return nil
	}
	select {
	case text := <-said:
		if text != "" {
			why = fmt.Errorf("%w: %s", why, text)
		}
	case <-time.After(saidWait):
	}
	return fmt.Errorf("%s: %w", n.Command[0], why)
}

// inputWait is far longer than it takes to write what a pipe holds.
const inputWait = time.Second

// inputOf is a pipe that holds a text when the command starts, which so reads it also where we die at once: the text of a
// notice fits into it. What does not, as of a forged state, is written while the command reads; its end, or the limit, ends that.
func inputOf(text []byte) (*os.File, error) {
	in, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = input.Write(text)
		_ = input.Close()
	}()
	select {
	case <-written:
	case <-time.After(inputWait):
	}
	return in, nil
}

// environment is what the command gets: ours, without what concerns only the supervisor: the service manager's variables, our
// own, and the secrets that services are given.
func environment(base, secrets []string, instance string) []string {
	unset := slices.Clone(secrets)
	for _, kv := range base {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "HERMES_SUPERVISOR_") {
			unset = append(unset, name)
		}
	}
	return process.ChildEnv(base, map[string]string{ident.InstanceVar: instance}, unset...)
}

// lastOf reads to the end and returns the last line, printable and short.
func lastOf(r io.Reader) string {
	var last []byte
	buf := make([]byte, maxSaid)
	for {
		n, err := r.Read(buf)
		last = append(last, buf[:n]...)
		last = last[max(len(last)-maxSaid, 0):]
		if err != nil {
			break
		}
	}
	last = bytes.TrimSpace(last)
	last = last[bytes.LastIndexByte(last, '\n')+1:]
	return cut(oneLine(string(last)), maxSaidLine)
}
