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

// ErrErrandCut is the error of an errand whose context ended before it.
var ErrErrandCut = errors.New("was ended by the stop of run")

// Do runs an errand to its end and returns the last of what it printed, when nothing of it is left. The error says in one
// line how it failed: a *StartError, ErrErrandCut, its limit, an Exit other than 0, or what is left of it. It is the only way in which
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
	if e.Input != nil {
		if program.Stdin, err = inputOf(e.Input); err != nil {
			return nil, errors.Join(err, out.Close())
		}
	}
	child, err := h.Start(program)
	_ = out.Close()
	if program.Stdin != nil {
		_ = program.Stdin.Close()
	}
	if err != nil {
		return nil, err
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
			err = fmt.Errorf("took longer than %s and was ended", e.Limit)
		case <-ctx.Done():
			ladder = ladder[len(ladder)-1:] // nobody waits for it any more
			select {
			case <-child.Done(): // it has come to its own end
			default:
				err = ErrErrandCut
			}
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

// inputWait is far longer than it takes to write what a pipe holds.
const inputWait = time.Second

// inputOf is a pipe that holds a text when the program starts, which so reads it also where we die at once. What does not fit
// is written while the program reads; its end, or the limit, ends that.
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
