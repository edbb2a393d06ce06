//go:build linux

package process

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// playProgram is a program under supervision. Its words:
//
//	exit N | kill         end by itself
//	parent | awaitparent  see parent_linux_test.go
//	wait | deaf           say "ready PID" and live; deaf ignores SIGINT and SIGTERM
//	polite N              say "ready PID", exit N at a SIGTERM or SIGINT, 90 if another follows
//	cont                  say "ready PID", stop itself, exit 7 at SIGTERM
//	launch S P…           start P… in the same group (S "group") or a session of its own ("session"), then wait
//	leave S P…            the same, but exit 0 when it has been started
//	bare S P…             like leave, but P… has an empty environment, the words aside
//	storm N               N times start "deaf" in a session of its own, some of them, then wait
//	flood N               write N bytes to stdout, then exit 0
//	closed                close stdin, say "ready PID" and live
//	pipe                  say "sigpipe 1" if SIGPIPE is ignored in it, else "sigpipe 0"
func playProgram(part []string) {
	word, rest := part[0], part[1:]
	ready := func() { fmt.Fprintf(os.Stdout, "ready %d\n", os.Getpid()) }
	forever := func() { select {} }
	switch word {
	case "parent":
		playParent()
	case "awaitparent":
		playAwaitParent()
	case "exit":
		n, _ := strconv.Atoi(rest[0])
		os.Exit(n)
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		forever()
	case "wait":
		ready()
		forever()
	case "deaf":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		ready()
		forever()
	case "polite":
		got := make(chan os.Signal, 8)
		signal.Notify(got, syscall.SIGTERM, syscall.SIGINT)
		ready()
		<-got
		select {
		case <-got:
			os.Exit(90)
		case <-time.After(50 * time.Millisecond):
		}
		n, _ := strconv.Atoi(rest[0])
		os.Exit(n)
	case "cont":
		got := make(chan os.Signal, 8)
		signal.Notify(got, syscall.SIGTERM)
		ready()
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		<-got
		os.Exit(7)
	case "launch", "leave", "bare":
		env := os.Environ()
		if word == "bare" {
			env = nil
		}
		if err := again(env, rest[0] == "session", rest[1:]...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(98)
		}
		if word == "launch" {
			fmt.Fprintf(os.Stdout, "launcher %d\n", os.Getpid())
			forever()
		}
		os.Exit(0)
	case "storm":
		n, _ := strconv.Atoi(rest[0])
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		for i := range n {
			_ = again(os.Environ(), i%2 == 0, "deaf")
		}
		forever()
	case "flood":
		n, _ := strconv.Atoi(rest[0])
		for line := strings.Repeat("0123456789abcde\n", 4096); n > 0; {
			m, err := os.Stdout.WriteString(line[:min(n, len(line))])
			if err != nil {
				os.Exit(97)
			}
			n -= m
		}
		os.Exit(0)
	case "closed":
		_ = os.Stdin.Close()
		ready()
		forever()
	case "pipe":
		ignored := 0
		if signal.Ignored(syscall.SIGPIPE) {
			ignored = 1
		}
		fmt.Fprintf(os.Stdout, "sigpipe %d\n", ignored)
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "no such program:", part)
	os.Exit(96)
}

// again starts this binary in another part.
func again(env []string, session bool, part ...string) error {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append([]string{}, env...)
	cmd.Env = append(cmd.Env, partVar+"="+strings.Join(part, " "))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	return cmd.Start()
}
