package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"hermes-supervisor/scripts/mockmodel"
)

// killed makes the case in which every process that one of the kinds picks is killed mid-answer, kind after kind.
func killed(kinds ...kind) func(context.Context, *trial) error {
	return cut(func(t *trial, processes []process) error { return t.killKinds(processes, kinds...) })
}

// terminated asks the agent to end, as somebody may who is not its keeper. Some exit with 0 then.
func terminated(t *trial, processes []process) error {
	for _, p := range processes {
		if !t.isNative(p) {
			continue
		}
		if err := p.signal(t.session, syscall.SIGTERM); err != nil {
			return err
		}
	}
	return nil
}

// cut makes the case in which the agent is ended mid-answer.
func cut(end func(*trial, []process) error) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		t.model.Script(halfAnswer)
		stop := watch(ctx, t.session)
		r, processes, err := t.startStalled(ctx, 1)
		if err == nil {
			err = end(t, processes)
		}
		if err == nil && t.skip == "" {
			err = r.wait(ctx)
		}
		seen := stop()
		if err != nil || t.skip != "" {
			return err
		}
		t.expectEnd(r, 0, t.agent.done)
		t.expectContinued(t.model.Requests(), 2)
		t.expectContinuation(seen)
		return t.expectClean(ctx, 0)
	}
}

// The agent is killed as soon as it is there, seconds before it has written anything down. Agents that choose their
// session's id do not know it then, and that run is not the one that the continuation gets: it is started afresh.
func killedAtOnce(ctx context.Context, t *trial) error {
	stop := watch(ctx, t.session)
	r, asked, err := killAtOnce(ctx, t)
	seen := stop()
	if err != nil {
		return err
	}
	t.expectEnd(r, 0, t.agent.done)
	requests := t.model.Requests()
	t.expect(len(requests) == asked+1, strconv.Itoa(asked+1), "model requests: %d, before the kill: %d", len(requests), asked)
	if len(requests) > 0 {
		t.expectNote(requests[len(requests)-1])
	}
	journal, err := os.ReadFile(t.journal())
	if err != nil {
		return err
	}
	afresh := strings.Contains(string(journal), `"unknown-session"`)
	t.expect(afresh || asked > 0 || !t.agent.forget, "yes", "started afresh after a session that the agent does not know: %t", afresh)
	t.expectAlone(seen)
	return t.expectClean(ctx, 0)
}

func killAtOnce(ctx context.Context, t *trial) (r *supervised, asked int, err error) {
	if r, err = t.start(ctx); err != nil {
		return nil, 0, err
	}
	if err := until(ctx, "the agent's first process", func() (bool, error) {
		found, err := t.scan()
		found = slices.DeleteFunc(found, func(p process) bool { return !t.isAgent(p) })
		if err != nil || len(found) == 0 {
			return false, err
		}
		return true, t.kill(found...)
	}); err != nil {
		return nil, 0, err
	}
	asked = len(t.model.Requests())
	return r, asked, r.wait(ctx)
}

// The agent is killed while a command of its own runs, which outlives it with most agents: nothing goes on before that
// command is gone.
func killedInTool(ctx context.Context, t *trial) error {
	note := filepath.Join(t.cwd(), "tool.pid")
	t.model.Script(
		mockmodel.Answer{Text: "I run a command.", Tool: t.agent.tool("echo $$ > tool.pid; exec tail -f /dev/null")},
		mockmodel.Answer{Ending: mockmodel.Stall},
	)
	stop := watch(ctx, t.session)
	err := killInTool(ctx, t, note)
	seen := stop()
	if err != nil {
		return err
	}
	requests := t.model.Requests()
	t.expectContinued(requests, 2)
	t.expect(requests[len(requests)-1].Holds(mayHaveRun), mayHaveRun, "told that a command may have run: %t", requests[len(requests)-1].Holds(mayHaveRun))
	t.expectContinuation(seen)
	return t.expectClean(ctx, 0)
}

// mayHaveRun is what the note says of the command.
const mayHaveRun = "A command may have run without its result being seen"

func killInTool(ctx context.Context, t *trial, note string) error {
	r, err := t.start(ctx)
	if err != nil {
		return err
	}
	var tool process
	if err := until(ctx, "the command to run, with the session in its environment", func() (bool, error) {
		select {
		case <-r.ended:
			return false, fmt.Errorf("hermes-supervisor ended with %d", r.code)
		default:
		}
		pid, ok := readPID(note)
		if !ok {
			return false, nil
		}
		start, over := stat(pid)
		tool = process{pid: pid, start: start}
		if over {
			return false, fmt.Errorf("the command, pid %d, has ended by itself", pid)
		}
		_, ours := inspect(pid, t.session) // not while one program takes the place of another
		return ours, nil
	}); err != nil {
		return err
	}
	processes, err := t.scan()
	if err != nil {
		return err
	}
	victims := slices.DeleteFunc(processes, func(p process) bool { return !t.isAgent(p) || p.pid == tool.pid })
	if err := t.kill(victims...); err != nil {
		return err
	}
	if err := t.stalled(ctx, r, 2); err != nil {
		return err
	}
	t.expect(tool.ended(), "yes", "command over when the continuation asks: %t", tool.ended())
	t.model.Release()
	if err := r.wait(ctx); err != nil {
		return err
	}
	t.expectEnd(r, 0, t.agent.done)
	return nil
}

// readPID reads what a shell has written with echo, once it is there as a whole.
func readPID(path string) (pid int, ok bool) {
	data, _ := os.ReadFile(path) // not there yet, or not yet written
	text, whole := strings.CutSuffix(string(data), "\n")
	pid, err := strconv.Atoi(text)
	return pid, whole && err == nil
}

// A connection that the agent lost and tries again is no end: a kill after it is a crash all the same.
func killedAfterRetry(ctx context.Context, t *trial) error {
	t.model.Script(mockmodel.Answer{Ending: mockmodel.Cut}, halfAnswer)
	stop := watch(ctx, t.session)
	r, processes, err := t.startStalled(ctx, 2)
	if err == nil {
		err = t.killKinds(processes, (*trial).isNative)
	}
	if err == nil {
		err = r.wait(ctx)
	}
	seen := stop()
	if err != nil {
		return err
	}
	retries, err := countLines(r.stdout, t.agent.retry)
	if err != nil {
		return err
	}
	t.expect(retries > 0, "at least 1", "retries that it told of before the kill: %d", retries)
	t.expectEnd(r, 0, t.agent.done)
	t.expectContinued(t.model.Requests(), 3)
	t.expectContinuation(seen)
	return t.expectClean(ctx, 0)
}
