package service

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/process"
)

// helpWait bounds how long a program may take to say which flags it has: Hermes takes seconds to import itself.
const helpWait = 30 * time.Second

// helpRetry is how long a program that said nothing is not asked again.
const helpRetry = 10 * time.Minute

// flagsKnown is what programs have said of themselves, by path, time of change and command: a launch asks once for each.
type flagsKnown struct {
	mu   sync.Mutex
	help map[string]helpText
}

type helpText struct {
	text  string
	until time.Time // zero: for good
}

var flags = flagsKnown{help: map[string]helpText{}}

// helpKey names a program as it is now.
func helpKey(program []string) string {
	path := program[0]
	if found, err := exec.LookPath(path); err == nil {
		path = found
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return strings.Join(append([]string{path, changedAt(path)}, program[1:]...), "\x00")
}

// of is what is known of a program.
func (f *flagsKnown) of(program []string) (help string, known bool) {
	key := helpKey(program)
	f.mu.Lock()
	defer f.mu.Unlock()
	h, known := f.help[key]
	return h.text, known && (h.until.IsZero() || time.Now().Before(h.until))
}

// ask asks a program, whose help text is the answer, and knows it from then on.
func (f *flagsKnown) ask(ctx context.Context, host *process.Host, program []string, question process.Errand) {
	key := helpKey(program)
	h := helpText{}
	said, err := host.Do(ctx, question)
	switch {
	case ctx.Err() != nil:
		return // it was not let say it
	case err == nil:
		h.text = string(said)
	}
	if h.text == "" {
		h.until = time.Now().Add(helpRetry)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.help[key] = h
}

// withFlags is the command with those of the wanted flags behind it that the help text has. A flag that a version does not
// know would end it (argparse: exit 2), so where nothing can be told, none is given.
func withFlags(command, wanted []string, help string) []string {
	command = slices.Clone(command)
	for _, flag := range wanted {
		if regexp.MustCompile(`(^|[\s,\[])` + regexp.QuoteMeta(flag) + `($|[\s,\]=])`).MatchString(help) {
			command = append(command, flag)
		}
	}
	return command
}

// forget has everything be asked anew: a program that ended because it does not know a flag was replaced behind a path
// that shows it not (a checkout that was updated).
func (f *flagsKnown) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.help)
}

// changedAt is when a file was changed, as a word; "" where that cannot be told.
func changedAt(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return info.ModTime().String()
}

// arguments is the command of the next launch; false while its program is asked which flags it has, which is the same
// command without what limits it. That takes seconds: orders are obeyed meanwhile, and the launch is taken up again by
// answered.
func (j *job) arguments(ctx context.Context) ([]string, bool) {
	spec := j.spec
	if len(spec.KnownFlags) == 0 || len(spec.Program) == 0 {
		return spec.Command, true
	}
	if help, known := flags.of(spec.Program); known {
		return withFlags(spec.Command, spec.KnownFlags, help), true
	}
	if j.unask == nil {
		ctx, j.unask = context.WithCancel(ctx)
		question := process.Errand{
			Argv: append(slices.Clone(spec.Program), "--help"), Dir: j.dir(), Supervisor: j.Supervisor, Limit: helpWait,
			Env: spec.environ(os.Environ(), map[string]string{homeVar: j.Files.Store.Home().Path}),
		}
		go func() {
			flags.ask(ctx, j.Host, spec.Program, question)
			j.answers <- struct{}{}
		}()
	}
	return nil, false
}

// answered goes on with the launch that waits for an answer, unless an order came first.
func (j *job) answered(ctx context.Context) {
	j.unask()
	j.unask = nil
	if !j.toLaunch() {
		return
	}
	j.Gate <- struct{}{}
	defer func() { <-j.Gate }()
	j.move(ctx, j.state, phase.Launch)
}

// toLaunch tells that nothing but an answer keeps the launch back.
func (j *job) toLaunch() bool {
	return j.state.Phase == phase.Starting && j.launch == nil && j.state.Reason != phase.ReasonOwnerUnknown
}
