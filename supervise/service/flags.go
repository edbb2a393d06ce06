package service

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// helpWait bounds how long a program may take to say which flags it has: Hermes takes seconds to import itself.
const helpWait = 30 * time.Second

// flagsKnown is what programs have said of themselves, by path, time of change and command: a launch asks once for each.
type flagsKnown struct {
	mu   sync.Mutex
	help map[string]string
}

var flags = flagsKnown{help: map[string]string{}}

// withKnown is the command with those of the wanted flags behind it that the help text of program has, which is the same
// command without what limits it. A flag that a version does not know would end it (argparse: exit 2), so where nothing
// can be told, none is given.
func (f *flagsKnown) withKnown(ctx context.Context, command, program, wanted, env []string, dir string) []string {
	if len(wanted) == 0 || len(program) == 0 {
		return command
	}
	key := ""
	if path, err := exec.LookPath(program[0]); err == nil {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
		key = strings.Join(append([]string{path, changedAt(path)}, program[1:]...), "\x00")
	}
	f.mu.Lock()
	help, known := f.help[key]
	f.mu.Unlock()
	if !known {
		help = helpOf(ctx, program, env, dir)
		if key != "" && help != "" {
			f.mu.Lock()
			f.help[key] = help
			f.mu.Unlock()
		}
	}
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

func helpOf(ctx context.Context, program, env []string, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, helpWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, program[0], append(slices.Clone(program[1:]), "--help")...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = &out, nil, env, dir
	cmd.WaitDelay = time.Second // a descendant may hold its output open
	if err := cmd.Run(); err != nil {
		return ""
	}
	return out.String()
}

// arguments is the command of the next launch. What it takes to find out does not hold the gate, behind which the other
// services wait for the disk.
func (j *job) arguments(ctx context.Context) []string {
	if len(j.spec.KnownFlags) == 0 {
		return j.spec.Command
	}
	<-j.Gate
	defer func() { j.Gate <- struct{}{} }()
	env := j.spec.environ(os.Environ(), map[string]string{homeVar: j.Files.Store.Home().Path})
	return flags.withKnown(ctx, j.spec.Command, j.spec.Program, j.spec.KnownFlags, env, j.dir())
}
