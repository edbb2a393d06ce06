package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hermes-supervisor/scripts/bench"
)

// continuation is the time from the SIGKILL of an agent to the first instruction of its continuation, with the attempt
// on disk in between; beside it a bare loop that starts the same agent again and records nothing.
func (b *turns) continuation(ctx context.Context) error {
	home, err := b.home("continue", 0)
	if err != nil {
		return err
	}
	script := `date +%s%N; [ "$HERMES_SUPERVISOR_ATTEMPT" = 1 ] && exit 0; exec sleep 60`
	var ours, bare []time.Duration
	for range b.Pairs {
		d, err := b.killed(b.Command(ctx, home, "turn", "run", "--session", "continue", "--prompt", "x", "--", "sh", "-c", "echo $$; "+script))
		if err != nil {
			return err
		}
		ours = append(ours, d)
		loop := exec.CommandContext(ctx, "sh", "-c", `sh -c 'echo $$; date +%s%N; exec sleep 60'; sh -c 'echo $$; date +%s%N'`)
		if d, err = b.killed(loop); err != nil {
			return err
		}
		bare = append(bare, d)
	}
	b.Held("SIGKILL to the continuation's first instruction", bench.Ms(bench.Median(ours)), "a bare loop: "+bench.Ms(bench.Median(bare)), "below 10 ms", bench.Median(ours) < 10*time.Millisecond)
	return nil
}

// killed runs a command whose agent prints its pid and the time, kills the agent, and reads the time of the next one.
// Both times include a start of date(1).
func (b *turns) killed(cmd *exec.Cmd) (time.Duration, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(out)
	next := func() int64 {
		if !lines.Scan() {
			return 0
		}
		n, _ := strconv.ParseInt(lines.Text(), 10, 64)
		return n
	}
	pid, began := next(), next()
	if pid == 0 || began == 0 {
		_ = cmd.Process.Kill()
		return 0, errors.Join(errors.New("the agent said nothing"), cmd.Wait())
	}
	agent, err := os.FindProcess(int(pid))
	if err != nil {
		return 0, err
	}
	killedAt := time.Now()
	if err := agent.Kill(); err != nil {
		return 0, err
	}
	_, again := next(), next()
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		return 0, err
	}
	return time.Unix(0, again).Sub(killedAt), nil
}

// memory is the keeper's proportional set size while its agent runs.
func (b *turns) memory(ctx context.Context) error {
	home, err := b.home("memory", 0)
	if err != nil {
		return err
	}
	cmd := b.Command(ctx, home, "turn", "run", "--session", "memory", "--prompt", "x", "--", "sh", "-c", "echo ready; exec sleep 60")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	time.Sleep(2 * time.Second) // what the start needed has been given back by then, if it ever is
	pss, rerr := pssOf(cmd.Process.Pid)
	_ = cmd.Process.Signal(syscall.SIGINT)
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // 130: interrupted
	if err := errors.Join(err, rerr); err != nil {
		return err
	}
	b.Held("memory of a keeper (PSS)", fmt.Sprintf("%.1f MB", float64(pss)/1024), "", "below 6 MB", pss < 6*1024)
	return nil
}

func pssOf(pid int) (kB int, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(data) {
		if rest, found := bytes.CutPrefix(line, []byte("Pss:")); found {
			return strconv.Atoi(strings.Fields(string(rest))[0])
		}
	}
	return 0, errors.New("no Pss in smaps_rollup")
}

// beginProcess is `turn begin` as a whole process, on a file system in memory where there is one, so that fsync costs
// nothing, beside the smallest Go program.
func (b *turns) beginProcess(ctx context.Context) error {
	where := "/dev/shm"
	if _, err := os.Stat(where); err != nil {
		where = b.Dir
	}
	dir, err := os.MkdirTemp(where, "bench-turns-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a scratch folder
	medians, err := b.Interleave(
		func() error {
			return b.Command(ctx, dir, "turn", "begin", "--session", "p", "--pid", strconv.Itoa(os.Getpid()), "--prompt", "x").Run()
		},
		func() error { return exec.CommandContext(ctx, b.tiny).Run() },
	)
	if err == nil {
		ratio := float64(medians[0]) / float64(medians[1])
		b.Held("turn begin as a process, fsync excluded", bench.Ms(medians[0]),
			fmt.Sprintf("smallest Go program: %s, %.1fx", bench.Ms(medians[1]), ratio), "within 3x", ratio <= 3)
	}
	return err
}

// overhead is what a keeper adds to a whole run of a program that does nothing.
func (b *turns) overhead(ctx context.Context) error {
	home, err := b.home("overhead", 0)
	if err != nil {
		return err
	}
	medians, err := b.Interleave(
		func() error {
			return b.Command(ctx, home, "turn", "run", "--session", "o", "--prompt", "x", "--", b.tiny).Run()
		},
		func() error { return exec.CommandContext(ctx, b.tiny).Run() },
	)
	if err == nil {
		b.Row("turn run of a program that does nothing", bench.Ms(medians[0]), "unwrapped: "+bench.Ms(medians[1]))
	}
	return err
}
