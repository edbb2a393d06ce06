package turn

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"hermes-supervisor/supervise/process"
)

func TestInsistRepeatsWhatMayPass(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for name, c := range map[string]struct {
		fails func(n int) error // of the n-th try, from 1
		want  error
		tries int           // 0: some
		took  time.Duration // at most
	}{
		"at once":                  {func(int) error { return nil }, nil, 1, 0},
		"a fault that passes":      {func(n int) error { return map[bool]error{true: full}[n < 4] }, nil, 4, time.Second},
		"a fault that stays":       {func(int) error { return full }, full, 0, 12 * time.Second},
		"the turn was taken":       {func(int) error { return fmt.Errorf("x: %w", errTaken) }, errTaken, 1, 0},
		"a program that is not":    {func(int) error { return &process.StartError{Argv0: "a", Err: exec.ErrNotFound} }, exec.ErrNotFound, 1, 0},
		"a program that may start": {func(n int) error { return map[bool]error{true: &process.StartError{Argv0: "a", Err: full}}[n < 3] }, nil, 3, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := &job{Keeper: &Keeper{Say: func(string, ...any) {}}}
				tries, begun := 0, time.Now()
				err := j.insist(t.Context(), "write", func() error { tries++; return c.fails(tries) })
				if !errors.Is(err, c.want) || c.want == nil && err != nil {
					t.Errorf("error %v, want %v", err, c.want)
				}
				if took := time.Since(begun); took > c.took || errors.Is(c.want, full) && took < 10*time.Second {
					t.Errorf("took %s", took)
				}
				if c.tries != 0 && tries != c.tries {
					t.Errorf("%d tries, want %d", tries, c.tries)
				}
			})
		})
	}
}

func TestInsistEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		full := errors.New("no space left on device")
		j := &job{Keeper: &Keeper{Say: func(string, ...any) {}}}
		begun := time.Now()
		if err := j.insist(ctx, "write", func() error { return full }); !errors.Is(err, full) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("took %s", took)
		}
	})
}
