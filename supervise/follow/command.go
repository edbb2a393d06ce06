package follow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/process"
)

// maxSaidLine is how much of what a command said the log gets.
const maxSaidLine = 300

// tell runs the command with a notice on its stdin and returns when nothing of it is left. The error says in one line what
// went wrong, with the last of what the command printed.
func (f *Follower) tell(ctx context.Context, n Notify, notice Notice, instance string) error {
	data, err := json.Marshal(notice)
	if err != nil {
		return err
	}
	said, err := f.Host.Do(ctx, process.Errand{
		Argv: n.Command, Dir: "/", Env: environment(os.Environ(), n.Unset, instance), Instance: instance, Supervisor: f.Self,
		Input: append(data, '\n'), Merged: true, Limit: n.Timeout,
	})
	if _, unstarted := errors.AsType[*process.StartError](err); unstarted || err == nil {
		return err
	}
	if line := lastLine(said); line != "" {
		err = fmt.Errorf("%w: %s", err, line)
	}
	return fmt.Errorf("%s: %w", n.Command[0], err)
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

// lastLine is the last one of a text, printable and short.
func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	text = text[bytes.LastIndexByte(text, '\n')+1:]
	return cut(oneLine(string(text)), maxSaidLine)
}
