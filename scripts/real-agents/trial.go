package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"hermes-supervisor/scripts/mockmodel"
)

// A trial is one case being run with one agent: a home, a session, a configuration and a model server of its own.
type trial struct {
	*findings

	agent      agent
	bin        string // the folder of PATH that has the agent
	supervisor string // the program under test
	dir        string
	home       string
	session    string
	prompt     string
	setup      setup
	model      *mockmodel.Server
	runs       []*supervised
	seen       map[process]bool // every process of the session that a scan has found
}

// newTrial makes everything below dir, which must not exist.
func newTrial(ctx context.Context, dir, supervisor string, who agent, bin string) (*trial, error) {
	model, err := mockmodel.Start(ctx)
	if err != nil {
		return nil, err
	}
	t := &trial{
		findings:   &findings{},
		agent:      who,
		bin:        bin,
		supervisor: supervisor,
		dir:        dir,
		home:       filepath.Join(dir, "hermes"),
		// A key that no file could be named after, and that no other run of this program uses.
		session: fmt.Sprintf("agent:real:%s:%d:%s", who.preset, os.Getpid(), filepath.Base(dir)),
		prompt:  "Answer with one word.\n\nSecond paragraph: \"quoted\" $HOME `id` {{session}} ] – Grüße, 你好",
		model:   model,
		seen:    map[process]bool{},
	}
	for _, folder := range []string{t.home, t.cwd(), t.user()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, errors.Join(err, model.Close())
		}
	}
	if t.setup, err = who.settle(t); err == nil {
		err = t.writeConfig()
	}
	if err != nil {
		return nil, errors.Join(err, model.Close())
	}
	return t, nil
}

// writeConfig makes the hermes.toml, which adds to the agent's preset what a mock needs.
func (t *trial) writeConfig() error {
	var text bytes.Buffer
	table := map[string]any{"args": t.setup.args, "env": t.setup.env}
	if t.setup.args == nil {
		delete(table, "args")
	}
	if err := toml.NewEncoder(&text).Encode(map[string]any{"agent": map[string]any{t.agent.preset: table}}); err != nil {
		return err
	}
	return writeFile(t.config(), text.String())
}

func (t *trial) cwd() string    { return filepath.Join(t.dir, "project") }
func (t *trial) user() string   { return filepath.Join(t.dir, "user") }
func (t *trial) config() string { return filepath.Join(t.dir, "config", "hermes.toml") }

// env is all that the supervised run inherits: nothing of the user's HOME, proxies or Hermes variables.
func (t *trial) env() []string {
	return []string{
		"PATH=" + t.bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + t.user(),
		"TMPDIR=" + os.TempDir(),
		"LANG=C.UTF-8",
		"NO_PROXY=127.0.0.1",
	}
}

func (t *trial) journal() string { return filepath.Join(t.home, "supervisor", "journal.jsonl") }

func (t *trial) isNative(p process) bool { return strings.HasPrefix(p.program, t.agent.native) }

func (t *trial) isLauncher(p process) bool {
	return t.agent.launcher != "" && strings.HasPrefix(p.program, t.agent.launcher)
}

func (t *trial) isAgent(p process) bool { return t.isNative(p) || t.isLauncher(p) }

// startStalled runs the turn until the model is in the middle of its n-th answer, and returns the agent's processes.
func (t *trial) startStalled(ctx context.Context, n int) (*supervised, []process, error) {
	r, err := t.start(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := t.stalled(ctx, r, n); err != nil {
		return nil, nil, err
	}
	processes, err := t.scan()
	return r, processes, err
}

// stalled waits until the model is in the middle of its n-th answer.
func (t *trial) stalled(ctx context.Context, r *supervised, n int) error {
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
	return t.model.Wait(waiting, fmt.Sprintf("the middle of answer %d", n), func(requests []mockmodel.Request) bool {
		return len(requests) >= n && requests[n-1].State == mockmodel.Stalling
	})
}

// A kind picks processes of an agent.
type kind func(*trial, process) bool

// killKinds kills the processes that each kind picks, kind after kind.
func (t *trial) killKinds(processes []process, kinds ...kind) error {
	if !slices.ContainsFunc(processes, t.isNative) {
		return fmt.Errorf("find the agent among the processes of the session: only %v", processes)
	}
	var victims []process
	for _, picks := range kinds {
		picked := slices.DeleteFunc(slices.Clone(processes), func(p process) bool { return !picks(t, p) })
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
	if journal, err := os.ReadFile(t.journal()); err == nil {
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
