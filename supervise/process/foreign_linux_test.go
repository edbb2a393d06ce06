package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"hermes-supervisor/fsstate/ident"
)

// stranger starts a process that is nobody's child of ours: its parent, a shell, lives, reaps it, and ends it with the
// given script when told to.
func stranger(t *testing.T, script string) (id ident.Ident, release func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	// The reader of fd 3 ends with the test, so that nothing outlives it.
	cmd := exec.CommandContext(ctx, "sh", "-c", `exec 3<&0; sh -c 'echo $$; read line <&3; `+script+`' & wait`)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatal(err)
	}
	if id, err = ident.Of(pid, ""); err != nil {
		t.Fatal(err)
	}
	return id, func() { _, _ = io.WriteString(stdin, "go\n") }
}

func TestTheExitOfAStrangerIsToldByItsHandle(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]Exit{
		"exit 5":        {Code: 5},
		"kill -KILL $$": {Code: 137, Signal: 9, Signaled: true},
	} {
		id, release := stranger(t, script)
		type result struct {
			exit  Exit
			known bool
			err   error
		}
		got := make(chan result, 1)
		go func() {
			exit, known, err := AwaitEnd(t.Context(), id, nil)
			got <- result{exit, known, err}
		}()
		select {
		case r := <-got:
			t.Fatalf("%s: told before its end: %+v", script, r)
		default:
		}
		release()
		r := <-got
		if r.err != nil {
			t.Fatal(r.err)
		}
		if !r.known {
			t.Skip("this kernel does not tell a stranger's exit (it needs Linux 6.15)")
		}
		if r.exit != want {
			t.Errorf("%s: %+v, want %+v", script, r.exit, want)
		}
	}
}

func TestTheExitOfAnUnreapedStrangerIsReadFromItsZombie(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "read line; exit 7")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	id, err := ident.Of(cmd.Process.Pid, "")
	_ = stdin.Close()
	for deadline := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(deadline); {
		if exit, ok := zombieStatus(id); ok { // our own child, which we do not reap
			if exit != (Exit{Code: 7}) {
				t.Errorf("%+v", exit)
			}
			return
		}
		runtime.Gosched()
	}
	t.Errorf("no status of the zombie, %v", err)
}

func TestWaitingForAStrangerEndsWithTheContext(t *testing.T) {
	t.Parallel()
	id, _ := stranger(t, "exit 0")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := AwaitEnd(ctx, id, nil)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestAStrangerWithARecycledPIDHasEnded(t *testing.T) {
	t.Parallel()
	id, _ := stranger(t, "exit 0")
	id.Start--
	if _, known, err := AwaitEnd(t.Context(), id, nil); known || err != nil {
		t.Errorf("known %v, error %v", known, err)
	}
}
