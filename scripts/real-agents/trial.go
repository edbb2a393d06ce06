package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hermes-supervisor/scripts/mockmodel"
)

// A trial is one case being run: a home, a session, a Codex configuration and a model server of its own.
type trial struct {
	*findings

	supervisor string // the program under test
	launcher   string // codex
	dir        string
	home       string
	session    string
	prompt     string
	model      *mockmodel.Server
	runs       []*supervised
	seen       map[process]bool // every process of the session that a scan has found
}

// newTrial makes everything below dir, which must not exist.
func newTrial(ctx context.Context, dir, supervisor, launcher string) (*trial, error) {
	model, err := mockmodel.Start(ctx)
	if err != nil {
		return nil, err
	}
	t := &trial{
		findings:   &findings{},
		supervisor: supervisor,
		launcher:   launcher,
		dir:        dir,
		home:       filepath.Join(dir, "hermes"),
		// A key that no file could be named after, and that no other run of this program uses.
		session: fmt.Sprintf("agent:real:codex:%d:%s", os.Getpid(), filepath.Base(dir)),
		prompt:  "Answer with one word.\n\nSecond paragraph: \"quoted\" $HOME `id` {{session}} ] – Grüße, 你好",
		model:   model,
		seen:    map[process]bool{},
	}
	for _, folder := range []string{t.home, t.cwd(), filepath.Join(dir, "user")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, errors.Join(err, model.Close())
		}
	}
	if err := writeCodexHome(filepath.Join(dir, "codex"), model.URL()); err != nil {
		return nil, errors.Join(err, model.Close())
	}
	return t, nil
}

func (t *trial) cwd() string { return filepath.Join(t.dir, "project") }

// env is all that the supervised run inherits: nothing of the user's HOME, proxies or Hermes variables.
func (t *trial) env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + filepath.Join(t.dir, "user"),
		"TMPDIR=" + os.TempDir(),
		"CODEX_HOME=" + filepath.Join(t.dir, "codex"),
		"MOCK_KEY=dummy",
		"NO_PROXY=127.0.0.1",
	}
}

// A supervised is one `hermes-supervisor turn run`.
type supervised struct {
	cmd    *exec.Cmd
	stdout string // file names
	stderr string
	result string // what --outcome names
	ended  chan struct{}
	code   int // after ended; -1: ended by a signal
}

// start runs the turn. Its output goes to files: an agent that outlives its keeper must not keep us waiting on a pipe.
func (t *trial) start(ctx context.Context) (*supervised, error) {
	number := len(t.runs) + 1
	name := func(kind string) string { return filepath.Join(t.dir, fmt.Sprintf("run-%d.%s", number, kind)) }
	r := &supervised{stdout: name("out"), stderr: name("err"), result: name("outcome"), ended: make(chan struct{})}
	args := append([]string{
		"--home", t.home, "turn", "run", "--session", t.session, "--prompt", t.prompt, "--outcome", r.result, "--",
	}, codexArgs(t.launcher)...)
	r.cmd = exec.CommandContext(ctx, t.supervisor, args...)
	r.cmd.Dir, r.cmd.Env = t.cwd(), t.env()
	stdout, err := os.Create(r.stdout)
	if err != nil {
		return nil, err
	}
	defer stdout.Close() //nolint:errcheck // the child has its own
	stderr, err := os.Create(r.stderr)
	if err != nil {
		return nil, err
	}
	defer stderr.Close() //nolint:errcheck // the child has its own
	r.cmd.Stdout, r.cmd.Stderr = stdout, stderr
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start hermes-supervisor: %w", err)
	}
	t.runs = append(t.runs, r)
	go func() {
		defer close(r.ended)
		_ = r.cmd.Wait() // the exit code tells all
		r.code = r.cmd.ProcessState.ExitCode()
	}()
	return r, nil
}

// wait waits for the end of a run; its code is known then.
func (r *supervised) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-r.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for hermes-supervisor to end: %w", context.Cause(ctx))
	}
}

// kill ends the keeper, and nothing that it launched.
func (r *supervised) kill(ctx context.Context) error {
	if err := r.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the keeper: %w", err)
	}
	return r.wait(ctx)
}

// finish runs the turn from its start to its end.
func (t *trial) finish(ctx context.Context) (*supervised, error) {
	r, err := t.start(ctx)
	if err != nil {
		return nil, err
	}
	return r, r.wait(ctx)
}

// startStalled runs the turn until the model is in the middle of its n-th answer, and returns the agent's processes.
func (t *trial) startStalled(ctx context.Context, n int) (*supervised, []process, error) {
	r, err := t.start(ctx)
	if err != nil {
		return nil, nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	waiting, over := context.WithCancelCause(waiting)
	defer over(nil)
	go func() { // nothing can stall any more once the run is over
		select {
		case <-r.ended:
			over(fmt.Errorf("hermes-supervisor ended with %d", r.code))
		case <-waiting.Done():
		}
	}()
	err = t.model.Wait(waiting, fmt.Sprintf("the middle of answer %d", n), func(requests []mockmodel.Request) bool {
		return len(requests) >= n && requests[n-1].State == mockmodel.Stalling
	})
	if err != nil {
		return nil, nil, err
	}
	processes, err := t.scan()
	return r, processes, err
}

// killKinds kills the processes that each kind picks, kind after kind.
func (t *trial) killKinds(processes []process, kinds ...func(process) bool) error {
	if !slices.ContainsFunc(processes, process.native) {
		return fmt.Errorf("find codex among the processes of the session: only %v", processes)
	}
	var victims []process
	for _, kind := range kinds {
		picked := slices.DeleteFunc(slices.Clone(processes), func(p process) bool { return !kind(p) })
		if len(picked) == 0 {
			t.skip = "no launcher to kill: this version of Node replaces it by the agent"
			return nil
		}
		victims = append(victims, picked...)
	}
	return t.kill(victims...)
}

// kill ends processes in the order given, without looking up from one to the next.
func (t *trial) kill(processes ...process) error {
	for _, p := range processes {
		if err := p.kill(t.session); err != nil {
			return err
		}
	}
	return nil
}

// scan lists the living processes of the session, and remembers them.
func (t *trial) scan() ([]process, error) {
	processes, err := scan(t.session)
	for _, p := range processes {
		t.seen[p] = true
	}
	return processes, err
}

// gone waits until nothing of the session lives, nothing that did is still ending, and the model has no open request.
func (t *trial) gone(ctx context.Context) error {
	if err := until(ctx, "the end of every process of the session", func() (bool, error) {
		if left, err := t.scan(); err != nil || len(left) > 0 {
			return false, err
		}
		maps.DeleteFunc(t.seen, func(p process, _ bool) bool { return p.ended() })
		return len(t.seen) == 0, nil
	}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return t.model.Wait(ctx, "the end of every request", func(requests []mockmodel.Request) bool {
		for _, r := range requests {
			if r.Open() {
				return false
			}
		}
		return true
	})
}

// records is the files in one folder of the home's supervisor folder and what is in them. A missing folder has none.
func (t *trial) records(folder string) (map[string]string, error) {
	dir := filepath.Join(t.home, "supervisor", folder)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	records := map[string]string{}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		records[entry.Name()] = string(data)
	}
	return records, nil
}

// close ends what is left of the trial, the keepers first, since they launch. Only a failed case leaves anything.
func (t *trial) close(ctx context.Context) error {
	var problems []error
	for _, r := range t.runs {
		problems = append(problems, r.kill(ctx))
	}
	problems = append(problems, until(ctx, "the end of what the case left behind", func() (bool, error) {
		left, err := t.scan()
		if err != nil || len(left) == 0 {
			return err == nil, err
		}
		return false, t.kill(left...)
	}))
	return errors.Join(append(problems, t.model.Close())...)
}

// report is what a failed case is understood by: what each run said, and what the model was asked and when.
func (t *trial) report() string {
	var out strings.Builder
	for _, r := range t.runs {
		for _, file := range []string{r.stderr, r.stdout, r.result} {
			if data, err := os.ReadFile(file); err == nil && len(data) > 0 {
				fmt.Fprintf(&out, "        %s:\n%s", filepath.Base(file), indent(string(data)))
			}
		}
	}
	if journal, err := os.ReadFile(filepath.Join(t.home, "supervisor", "journal.jsonl")); err == nil {
		fmt.Fprintf(&out, "        journal:\n%s", indent(string(journal)))
	}
	requests := t.model.Requests()
	for _, r := range requests {
		epoch := requests[0].Start
		fmt.Fprintf(&out, "        model request %d at %v from %s: %s", r.N, r.Start.Sub(epoch), r.Remote, r.State)
		if !r.Open() {
			fmt.Fprintf(&out, " at %v", r.End.Sub(epoch))
		}
		if len(r.Inputs) > 0 {
			fmt.Fprintf(&out, ", last input %q", r.Inputs[len(r.Inputs)-1].Text)
		}
		fmt.Fprintln(&out, r.Error)
	}
	return out.String()
}

func indent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString("          " + strings.TrimRight(line, "\n") + "\n")
	}
	return out.String()
}
