package ident

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// helperVar selects what the re-executed test binary plays, see helpers.
const helperVar = "IDENT_TEST_HELPER"

// helpers are the programs that the test binary plays as a child. Each says one line when it has got where the test
// wants it, and is then ended by the test.
var helpers = map[string]func(){}

func TestMain(m *testing.M) {
	name := os.Getenv(helperVar)
	if name == "" {
		os.Exit(m.Run())
	}
	play, ok := helpers[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "no helper %q\n", name)
		os.Exit(2)
	}
	play()
}

func init() {
	helpers["idle"] = func() {
		say("ready")
		linger()
	}
}

// say tells the test one line.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

// linger waits to be killed, though not for ever, in case that the test is.
func linger() {
	time.Sleep(time.Minute)
}

// child is a running helper.
type child struct {
	*exec.Cmd
	out *bufio.Scanner
}

// start runs a helper and waits for its first line.
func start(t *testing.T, helper string, configure func(*exec.Cmd)) (*child, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), helperVar+"="+helper)
	cmd.Stderr = os.Stderr
	if configure != nil {
		configure(cmd)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: cmd, out: bufio.NewScanner(out)}
	t.Cleanup(c.end)
	return c, c.line(t)
}

// line waits for the next line that the helper says.
func (c *child) line(t *testing.T) string {
	t.Helper()
	if !c.out.Scan() {
		t.Fatalf("helper said nothing: %v", errors.Join(c.out.Err(), io.ErrUnexpectedEOF))
	}
	return strings.TrimSpace(c.out.Text())
}

// end kills the helper and reaps it; a second call does nothing.
func (c *child) end() {
	if c.ProcessState == nil {
		c.Process.Kill()
		c.Wait()
	}
}
