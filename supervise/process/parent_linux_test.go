package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The parent of this scene's child starts it from a thread that ends at once, as the threads of a pool do: for
// PR_SET_PDEATHSIG that would be the parent's death. It lives on until its stdin ends.
func init() {
	scenes["parent whose thread ends"] = func(*scene) error {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), partVar+"=parent")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		lines := bufio.NewScanner(stdout)
		for _, want := range []string{"thread ended"} {
			if !lines.Scan() || lines.Text() != want {
				return fmt.Errorf("%q, want %q", lines.Text(), want)
			}
		}
		_ = stdin.Close()
		if !lines.Scan() || lines.Text() != "parent ended" {
			return fmt.Errorf("%q after the parent's end", lines.Text())
		}
		_ = cmd.Wait() // the scene may have reaped it
		return nil
	}
}

func TestParentIsAProcessAndNoThread(t *testing.T) { play(t, "parent whose thread ends") }

// playParent is that parent. Its child tells of the end of the thread and of the process that started it.
func playParent() {
	started := make(chan error)
	var start func()
	start = func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		if unix.Gettid() == os.Getpid() {
			go start() // the first thread never ends: take another one
			return
		}
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), partVar+"=awaitparent", "THREAD="+strconv.Itoa(unix.Gettid()))
		child.Stdout = os.Stdout
		started <- child.Start()
	}
	go start()
	if <-started != nil {
		os.Exit(97)
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(0)
}

func playAwaitParent() {
	gone := make(chan error, 1)
	go func() { gone <- AwaitParent(context.Background()) }()
	thread := fmt.Sprintf("/proc/%d/task/%s", os.Getppid(), os.Getenv("THREAD"))
	for {
		if _, err := os.Stat(thread); err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Fprintln(os.Stdout, "thread ended")
	if <-gone == nil {
		fmt.Fprintln(os.Stdout, "parent ended")
	}
}

func TestAwaitParentEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := AwaitParent(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := pollParent(ctx, os.Getppid()); !errors.Is(err, context.Canceled) {
		t.Error("by polling:", err)
	}
	if err := pollParent(ctx, -1); err != nil {
		t.Error("another parent by now:", err)
	}
}
