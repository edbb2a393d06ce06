//go:build linux

package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary plays three parts, by this variable: unset, the tests; "scene NAME", one test's supervising process,
// which must be alone so that every descendant is its own and strangers come to it; else a program under supervision.
const partVar = "PROCESS_TEST_PART"

// patience bounds every wait for a state, and the life of every helper, which nobody has to look for afterwards.
const patience = 60 * time.Second

// scenes are the supervising processes; each is one test's body. Filled by init functions beside the tests.
var scenes = map[string]func(*scene) error{}

func TestMain(m *testing.M) {
	part := strings.Fields(os.Getenv(partVar))
	switch {
	case len(part) == 0:
		os.Exit(m.Run())
	case part[0] == "scene":
		os.Exit(playScene(scenes[strings.Join(part[1:], " ")]))
	default:
		time.AfterFunc(patience, func() { os.Exit(99) })
		playProgram(part)
	}
}

// play runs a scene in a process of its own and fails the test with what it says.
func play(t *testing.T, name string, env ...string) string {
	t.Helper()
	if scenes[name] == nil {
		t.Fatalf("scene %q is not registered", name)
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), partVar+"=scene "+name, "GORACE=atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 3 * patience
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

func playScene(f func(*scene) error) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	s, err := newScene()
	if err == nil {
		err = errors.Join(f(s), s.close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// scene is what a supervising process works with.
type scene struct {
	host  *Host
	ctx   context.Context //nolint:containedctx // the scene is the whole process
	said  chan string     // lines that programs wrote
	heard []string        // and those that were not asked for yet
	voice *os.File        // where they write them
}

func newScene() (*scene, error) {
	host, err := NewHost()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s := &scene{host: host, ctx: ctx, said: make(chan string, 1000), voice: w}
	go func() {
		defer cancel()
		_ = host.Run(ctx)
	}()
	go func() {
		for lines := bufio.NewScanner(r); lines.Scan(); {
			s.said <- lines.Text()
		}
	}()
	return s, nil
}

// close ends what the scene has left, so that nothing survives a failed one.
func (s *scene) close() error {
	return Tree{Sole: true}.End(s.ctx, Ladder{{syscall.SIGKILL, ScopeTree, 0}})
}

// start runs a program under supervision, tagged with instance, talking to the scene.
func (s *scene) start(instance string, part ...string) (*Child, error) {
	return s.host.Start(Spec{
		Argv:   []string{os.Args[0], "-test.run=^$"},
		Env:    ChildEnv(os.Environ(), map[string]string{partVar: strings.Join(part, " "), "HERMES_SUPERVISOR_INSTANCE": instance}),
		Stdout: s.voice, Stderr: os.Stderr,
	})
}

// hear waits until a program has said "word PID" and returns the pid.
func (s *scene) hear(word string) (int, error) {
	for {
		for i, line := range s.heard {
			if rest, ok := strings.CutPrefix(line, word+" "); ok {
				s.heard = slices.Delete(s.heard, i, i+1)
				return strconv.Atoi(rest)
			}
		}
		select {
		case line := <-s.said:
			s.heard = append(s.heard, line)
		case <-s.ctx.Done():
			return 0, fmt.Errorf("nobody said %q", word)
		}
	}
}

// exitOfChild waits for the end of c.
func (s *scene) exitOfChild(c *Child) (Exit, error) {
	select {
	case <-c.Done():
		return c.Exit(), nil
	case <-s.ctx.Done():
		return Exit{}, fmt.Errorf("pid %d did not end", c.PID())
	}
}

// until waits for a state of the system that tells nobody when it comes.
func (s *scene) until(what string, holds func() bool) error {
	for !holds() {
		if err := Pause(s.ctx, time.Millisecond); err != nil {
			return fmt.Errorf("it never came true that %s", what)
		}
	}
	return nil
}
