package turn

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

// Lost finds the open turn that a call which knows no key has begun before, so that the same call given again is the same
// turn: one under a key that begins with prefix, of the same command line, with the prompt and the working folder of the
// request and the same input beside it, and without a keeper. "" where there is none. A keeper that lives has a call of its own waiting for it: another
// such call beside that is meant as another turn.
func (r *Room) Lost(prefix string, req Request) string {
	turns, _ := r.files().All(fsstate.Turns)
	s := r.look()
	for _, t := range turns {
		if !strings.HasPrefix(t.Session, prefix) || t.Agent != "" || t.Reported() || t.Prompt != req.Prompt || t.Call != req.Call {
			continue
		}
		// What anyone may have written chooses no session for a person.
		if !t.Verified && r.signs() || !sameFolder(t.Cwd, req.Cwd) || !r.sameInput(t, req) {
			continue
		}
		if s.keeper(t).Verdict != ident.Alive {
			return t.Session
		}
	}
	return ""
}

// sameFolder: a folder has several names where links lead to it.
func sameFolder(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// sameInput compares what the agent's stdin held beside the prompt: `git diff | claude -p review` is another turn with each
// diff. An input that cannot be read any more is not known to be the same.
func (r *Room) sameInput(t *fsstate.Turn, req Request) bool {
	if _, byStdin := promptRoute(req.Agent.Command); byStdin {
		return true
	}
	f, err := r.Store.OpenRun(t.Owner.Instance + ".in")
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // read only
	before, err := io.ReadAll(io.LimitReader(f, int64(len(req.Input))+1))
	return err == nil && bytes.Equal(before, req.Input)
}
