package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	scenes["exit codes"] = func(s *scene) error {
		for _, code := range []int{0, 1, 3, 75, 130, 255} {
			c, err := s.start(instance, "exit", strconv.Itoa(code))
			if err != nil {
				return err
			}
			if got, err := s.exitOfChild(c); err != nil || got != (Exit{Code: code}) {
				return fmt.Errorf("exit %d: %+v, %w", code, got, err)
			}
			if err := c.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("signal after the end: %w", err)
			}
		}
		c, err := s.start(instance, "kill")
		if err != nil {
			return err
		}
		if got, err := s.exitOfChild(c); err != nil || got != killed || got.String() != "signal SIGKILL" {
			return fmt.Errorf("killed: %+v %s, %w", got, got, err)
		}
		return nil
	}
	scenes["strangers"] = func(s *scene) error {
		// Orphans that come and go beside children of ours, which keep their exit status.
		var children []*Child
		for range 20 {
			c, err := s.start(instance, "leave", "session", "exit", "1")
			if err != nil {
				return err
			}
			children = append(children, c)
		}
		for _, c := range children {
			if got, err := s.exitOfChild(c); err != nil || got != (Exit{}) {
				return fmt.Errorf("child: %+v, %w", got, err)
			}
		}
		return s.until("all strangers are reaped", childless)
	}
	scenes["start errors"] = func(s *scene) error {
		script := os.Getenv("PROCESS_TEST_DIR") + "/not-executable"
		if err := os.WriteFile(script, []byte("no program"), 0o600); err != nil {
			return err
		}
		for _, tt := range []struct {
			argv []string
			dir  string
			want error
		}{
			{argv: nil, want: exec.ErrNotFound},
			{argv: []string{"no-such-program-here"}, want: exec.ErrNotFound},
			{argv: []string{"/no/such/program"}, want: fs.ErrNotExist},
			{argv: []string{script}, want: fs.ErrPermission},
			{argv: []string{os.Args[0]}, dir: "/no/such/folder", want: fs.ErrNotExist},
		} {
			_, err := s.host.Start(Spec{Argv: tt.argv, Dir: tt.dir})
			var start *StartError
			if !errors.As(err, &start) || !errors.Is(err, tt.want) || strings.Contains(err.Error(), "\n") {
				return fmt.Errorf("%q in %q: %w", tt.argv, tt.dir, err)
			}
		}
		if !childless() {
			return errors.New("a failed start left a child")
		}
		return nil
	}
	scenes["session"] = func(s *scene) error {
		c, err := s.start(instance, "wait")
		if err != nil {
			return err
		}
		if _, err := s.hear("ready"); err != nil {
			return err
		}
		p, err := readProc(c.PID())
		if err != nil || p.sid != c.PID() || p.pgid != c.PID() {
			return fmt.Errorf("%+v, %w: not the leader of its own session", p, err)
		}
		if e := c.Exit(); e.Code != -1 {
			return fmt.Errorf("exit of a living child: %+v", e)
		}
		if tag := newTags("")(c.PID()); tag != instance {
			return fmt.Errorf("tag %q", tag)
		}
		return c.Resume()
	}
	scenes["sigpipe"] = func(s *scene) error {
		if _, err := s.start(instance, "pipe"); err != nil {
			return err
		}
		ignored, err := s.hear("sigpipe")
		if err == nil && ignored != 0 {
			err = errors.New("the child ignores SIGPIPE")
		}
		return err
	}
	scenes["exit status"] = func(s *scene) error {
		c, err := s.start(instance, "cont")
		if err != nil {
			return err
		}
		fd, err := unix.PidfdOpen(c.PID(), 0)
		if err != nil {
			return err
		}
		if _, ok := ExitStatus(fd); ok {
			return errors.New("the exit status of a living process")
		}
		if err := c.Signal(syscall.SIGKILL); err != nil {
			return err
		}
		if _, err := s.exitOfChild(c); err != nil {
			return err
		}
		got, ok := ExitStatus(fd)
		if !ok {
			_, err := io.WriteString(os.Stdout, "SKIP: this kernel does not keep exit statuses with pidfds")
			return err
		}
		if got != killed {
			return fmt.Errorf("%+v", got)
		}
		return nil
	}
}

func TestExitIsReportedAsItWas(t *testing.T) { play(t, "exit codes") }

func TestStrangersAreReapedAndOurOwnAreNotStolen(t *testing.T) { play(t, "strangers") }

func TestFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	play(t, "start errors", "PROCESS_TEST_DIR="+dir)
}

func TestChildLeadsItsOwnSession(t *testing.T) { play(t, "session") }

func TestCaughtSIGPIPEIsNotInherited(t *testing.T) { play(t, "sigpipe") }

func TestExitStatusOfAnothersChild(t *testing.T) {
	if said := play(t, "exit status"); said != "" {
		t.Skip(said)
	}
}

func TestEndOfAHundredChildrenCostsNoThreads(t *testing.T) { play(t, "threads") }

func init() {
	scenes["threads"] = func(s *scene) error {
		for range 60 {
			c, err := s.host.Start(Spec{Argv: []string{"/bin/sleep", "20"}})
			if err != nil {
				return err
			}
			_ = c
		}
		threads, err := os.ReadDir("/proc/self/task")
		if err == nil && len(threads) > 40 {
			err = fmt.Errorf("%d threads for 60 children", len(threads))
		}
		return err
	}
}
