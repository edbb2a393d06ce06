package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/fsstate/ident"
)

// errand is that of these shell words.
func errand(words string) Errand {
	return Errand{Argv: []string{"/bin/sh", "-c", words}, Env: os.Environ(), Limit: patience}
}

func init() {
	scenes["errands among strangers"] = func(s *scene) error {
		// The Host reaps whatever it does not know as soon as it has ended, and errands end at once.
		for range 200 {
			if said, err := s.host.Do(s.ctx, errand("echo said")); err != nil || string(said) != "said\n" {
				return fmt.Errorf("%q, %w", said, err)
			}
		}
		return s.until("nothing is left", childless)
	}
	scenes["errands"] = func(s *scene) error {
		supervisor, err := ident.Self(ident.NewInstance())
		if err != nil {
			return err
		}
		merged := errand("cat; echo more >&2; exit 3")
		merged.Input, merged.Merged = []byte("input "), true
		if said, err := s.host.Do(s.ctx, merged); err == nil || err.Error() != "exit 3" || string(said) != "input more\n" {
			return fmt.Errorf("exit 3: %q, %w", said, err)
		}
		if said, err := s.host.Do(s.ctx, errand("echo more >&2")); err != nil || len(said) != 0 {
			return fmt.Errorf("stderr is not wanted: %q, %w", said, err)
		}
		deaf := errand("exec true")
		deaf.Input = make([]byte, 1<<20)
		if _, err := s.host.Do(s.ctx, deaf); err != nil {
			return fmt.Errorf("who reads nothing: %w", err)
		}
		if said, err := s.host.Do(s.ctx, errand("head -c 3000000 /dev/zero; echo; echo end")); err != nil || len(said) != maxSaid || !strings.HasSuffix(string(said), "\nend\n") {
			return fmt.Errorf("much: %d bytes, %w", len(said), err)
		}
		daemon := errand("setsid sleep 300 & exec sleep 300")
		daemon.Instance, daemon.Supervisor, daemon.Limit = "errand-instance", supervisor, 50*time.Millisecond
		daemon.Env = ChildEnv(os.Environ(), map[string]string{ident.InstanceVar: daemon.Instance})
		if _, err := s.host.Do(s.ctx, daemon); err == nil || err.Error() != "took longer than 50ms and was ended" {
			return fmt.Errorf("the limit: %w", err)
		}
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		if _, err := s.host.Do(ctx, errand("exec sleep 300")); !errors.Is(err, ErrErrandCut) {
			return fmt.Errorf("the end of its context: %w", err)
		}
		if _, err := s.host.Do(s.ctx, Errand{Argv: []string{"/no/such/program"}, Input: []byte("x"), Limit: patience}); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("no program: %w", err)
		}
		return s.until("nothing is left", childless)
	}
}

func TestAnErrandsExitIsNotLostToTheReapingOfStrangers(t *testing.T) {
	play(t, "errands among strangers")
}

func TestAnErrandEndsWithAllThatItStarted(t *testing.T) { play(t, "errands") }
