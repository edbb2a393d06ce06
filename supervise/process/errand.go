package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"hermes-supervisor/fsstate/ident"
)

// Errand is a program that is run for the supervisor itself, and for as long as a bound allows: a question, or a message.
type Errand struct {
	Argv       []string
	Dir        string
	Env        []string    // the whole environment, with the instance
	Instance   string      // by which what it starts is found; empty: by its session alone
	Supervisor ident.Ident // this process
	Input      []byte      // its stdin; nil: the null device
	Merged     bool        // its stderr is wanted as well; else that is the null device
	Limit      time.Duration
}

// Bounds of an errand.
const (
	maxSaid      = 256 << 10              // bytes of what it prints, from the end
	saidWait     = 100 * time.Millisecond // for output after its end
	errandEnding = 5 * time.Second        // for its tree to end
)

// ErrErrandCut is the error of an errand that took too long, or whose context ended.
var ErrErrandCut = errors.New("was ended")

// Do runs an errand to its end and returns the last of what it printed, when nothing of it is left. The error says in one
// line how it failed: a *StartError, ErrErrandCut, an Exit other than 0, or what is left of it. It is the only way in which
// a process that has a Host may run a program and wait for it: os/exec would lose the exit to the Host's reaping.
func (h *Host) Do(ctx context.Context, e Errand) (said []byte, err error) {
	output, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer output.Close() //nolint:errcheck // a pipe; what still writes into it finds nobody
	program := Spec{Argv: e.Argv, Dir: e.Dir, Env: e.Env, Stdout: out}
	if e.Merged {
		program.Stderr = out
	}
	var input *os.File
	if e.Input != nil {
		if program.Stdin, input, err = os.Pipe(); err != nil {
			return nil, errors.Join(err, out.Close())
		}
		defer input.Close() //nolint:errcheck // a pipe: nobody reads it any more
	}
	child, err := h.Start(program)
	_ = out.Close()
	if input != nil {
		_ = program.Stdin.Close()
	}
	if err != nil {
		return nil, err
	}
	if input != nil {
		go func() { // who does not read must not hold us up: its end, or the limit, ends this
			_, _ = input.Write(e.Input)
			_ = input.Close()
		}()
	}
	printed := make(chan []byte, 1)
	go func() { printed <- lastOf(output) }()
	err = h.await(ctx, child, e)
	select {
	case said = <-printed:
	case <-time.After(saidWait):
	}
	return said, err
}

// await waits for the end, or makes it, and ends what is left.
func (h *Host) await(ctx context.Context, child *Child, e Errand) (err error) {
	tree := Tree{Instance: e.Instance, Leader: ident.Launched(child.PID(), ident.Unlaunched(e.Supervisor, e.Instance)), Host: h}
	late := time.NewTimer(e.Limit)
	defer late.Stop()
	ladder := KillLadder()
	if err = child.Resume(); err == nil {
		select {
		case <-child.Done():
		case <-late.C:
			err = fmt.Errorf("took longer than %s and %w", e.Limit, ErrErrandCut)
		case <-ctx.Done():
			err = fmt.Errorf("%w by the stop of run", ErrErrandCut)
			ladder = ladder[len(ladder)-1:] // nobody waits for it any more
		}
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), errandEnding)
	defer cancel()
	left := tree.End(ending, ladder)
	exit := child.Exit()
	switch {
	case err != nil:
		return err
	case exit.Code != 0 || exit.Signaled:
		return errors.New(exit.String())
	}
	return left
}

// lastOf reads to the end and returns the last of it.
func lastOf(r io.Reader) (last []byte) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		last = append(last, buf[:n]...)
		if err != nil {
			return last[max(len(last)-maxSaid, 0):]
		}
		if len(last) > 2*maxSaid {
			last = append(last[:0], last[len(last)-maxSaid:]...)
		}
	}
}
