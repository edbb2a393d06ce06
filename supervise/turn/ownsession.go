package turn

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy"
)

// NewSessionID is a random UUID (RFC 9562, version 4), as agents take it for the id of a session.
func NewSessionID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// forgetSession lets go of the agent's own session: the next run has another one, and orders may still name this.
func forgetSession(t *fsstate.Turn) {
	if t.AgentSession != "" && !slices.Contains(t.Aliases, t.AgentSession) {
		t.Aliases = append(slices.Clone(t.Aliases), t.AgentSession)
	}
	t.AgentSession = ""
}

// maxTold bounds a told id; the agents' own have at most 40 characters.
const maxTold = 128

// tellable tells whether what an agent has printed can be the id of a session: a letter or digit, then more of them or one
// of "._:-". It becomes an argument of the next run, which no text of the output may use for a flag of its own.
func tellable(id string) bool {
	for i := range len(id) {
		c := id[i]
		alnum := '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		if !alnum && (i == 0 || !strings.ContainsRune("._:-", rune(c))) {
			return false
		}
	}
	return id != "" && len(id) <= maxTold
}

// maxBound bounds an id that was bound by others.
const maxBound = 1024

// resumable tells whether the id of a marker can be an argument. It may be a name that a person chose, but anyone who can
// write here can have bound it: it is no flag, and nothing that no program could be started with.
func resumable(id string) bool {
	return len(id) <= maxBound && !strings.HasPrefix(id, "-") && !strings.ContainsFunc(id, unicode.IsControl)
}

// headSize is where the agent's word on its session is looked for first: it stays in the file whatever is freed behind it.
const headSize = 64 << 10

// learnSession finds the id of the agent's own session in what its last run has printed.
func (j *job) learnSession(t *fsstate.Turn) (found bool) {
	told := j.Request.Agent.Own.Told
	if told == nil || t.AgentSession != "" || t.Owner.Instance == "" {
		return false
	}
	streams := []string{".out", ".err"}
	if j.Request.Agent.OnStderr.Session {
		streams = []string{".err"}
	}
	for _, suffix := range streams {
		if id := j.Room.told(told, t.Owner.Instance+suffix); id != "" {
			t.AgentSession = id
			return true
		}
	}
	return false
}

// told is the id in the first line that tells one, in the head of a run's file or in its tail.
func (r *Room) told(re *regexp.Regexp, name string) string {
	f, err := r.Store.OpenRun(name)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // read only
	head, err := io.ReadAll(io.NewSectionReader(f, 0, headSize))
	if err != nil {
		return ""
	}
	if id := firstTold(re, head); id != "" || len(head) < headSize {
		return id
	}
	tail, err := r.tail(name)
	if err != nil {
		return ""
	}
	return firstTold(re, tail)
}

// firstTold is the first group of the first whole line that has an id there: of a line that is still being written, or was
// when its agent died, it may be half.
func firstTold(re *regexp.Regexp, text []byte) string {
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			continue
		}
		if m := re.FindSubmatch(bytes.TrimRight(line, "\r\n")); len(m) > 1 && tellable(string(m[1])) {
			return string(m[1])
		}
	}
	return ""
}

// noteSession writes the agent's own session into the marker as soon as it is known: an interrupt may name it, and so may
// the continuation of whoever comes after us.
func (j *job) noteSession(ctx context.Context) {
	t := *j.turn
	if !j.learnSession(&t) {
		return
	}
	err := j.update(ctx, "session", func(now *fsstate.Turn) error {
		if now.AgentSession != "" {
			return nil
		}
		now.AgentSession = t.AgentSession
		return j.put(now, "bound", "")
	})
	if err != nil {
		j.Say("the agent's session is not recorded yet: %v", err)
	}
}

// awaitsSession tells whether the agent has yet to tell its session.
func (j *job) awaitsSession() bool {
	return j.Request.Agent.Own.Told != nil && j.turn.AgentSession == ""
}

// startAfresh follows a run that was to resume a session which its agent does not know, as when it was killed in its
// first second: the same attempt once more, without resuming. The run never began, so no attempt is charged; whether
// it may go on is asked as of any continuation, since the world may have changed while it ran.
func (j *job) startAfresh(ctx context.Context, e ending, reason policy.Reason) (*Outcome, error) {
	by := j.run.by
	if err := j.closeRun(ctx); err != nil {
		return j.leave(ctx, e, reason, err.Error())
	}
	if j.heldStill() {
		return j.leave(ctx, e, policy.ReasonOwnerAlive, unseenHolder)
	}
	j.Say("%s: it is started afresh with the original prompt", reason.Text())
	var out *Outcome
	err := j.insist(ctx, "start afresh", func() error {
		return j.update(ctx, "start afresh", func(t *fsstate.Turn) (err error) {
			if t.Phase == fsstate.PhaseStopping {
				out, err = j.retire(t)
				return err
			}
			t.Phase, t.Crash = fsstate.PhaseRunning, crashOf(e, reason)
			j.Room.note(t, "unknown-session", fsstate.PhaseRunning, string(reason), &e.Code)
			if own := j.Request.Agent.Own; own.NewID || !own.Chosen {
				forgetSession(t)
			}
			t.Attempts--
			out, err = j.goOn(ctx, t, next{by: by, waited: true, fresh: true})
			return err
		})
	})
	return j.settled(ctx, out, err)
}
