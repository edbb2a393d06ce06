package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"hermes-supervisor/supervise/turn"
)

// The exit codes of a shell for a program that cannot be run. Limits that cannot be set are a fault of the
// configuration, with its code, on which a service is parked.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// limits bound each process of a service. A zero field leaves what the supervisor itself has.
type limits struct {
	// memory bounds, in bytes, what a process may have of writable memory of its own: RLIMIT_DATA.
	//
	// It is not RLIMIT_AS, which counts reserved addresses too. Node, Go and the JVM reserve far more than they use: measured
	// here, under 512 MiB of RLIMIT_AS node printed nothing, a small Go program died at its start ("failed to reserve page
	// summary memory"), and java failed even at 2 GiB; under 512 MiB of RLIMIT_DATA all three ran. It is not a cgroup's
	// memory.max either, which bounds a whole service and counts what is really used, but takes rights that a user's
	// program does not have: where there is a service manager, that is the better bound (MemoryMax=).
	memory    int64
	openFiles int // descriptors, as soft and hard limit: RLIMIT_NOFILE
	nice      int // -20 to 19; below the supervisor's own takes rights

	terminal bool // no limit: the program comes to the foreground of the terminal, see process.TakeTerminal
}

// limitError is a limit that the system does not grant.
type limitError struct {
	limit string // "open files 64"
	err   error
}

func (e *limitError) Error() string { return fmt.Sprintf("limit %s: %v", e.limit, e.err) }

func (e *limitError) Unwrap() error { return e.err }

// limitedArgv is a command line under l: argv itself where nothing is limited, else argv behind exec-with-limits of self,
// which is this program. The shim becomes argv in the same process, so that pid, start, environment and descriptors are
// what they were; it looks up argv[0] in the PATH that it is given, which is the service's.
func limitedArgv(self string, l limits, argv []string) []string {
	if l == (limits{}) {
		return argv
	}
	limited := []string{self, "exec-with-limits"}
	for _, flag := range []struct {
		name  string
		value int64
	}{{"memory", l.memory}, {"open-files", int64(l.openFiles)}, {"nice", int64(l.nice)}} {
		if flag.value != 0 {
			limited = append(limited, fmt.Sprintf("--%s=%d", flag.name, flag.value))
		}
	}
	if l.terminal {
		limited = append(limited, "--terminal")
	}
	return append(append(limited, "--"), argv...)
}

func (a *app) limitsCommand() *cobra.Command {
	var memory, openFiles, nice string
	var terminal bool
	cmd := &cobra.Command{
		Use:    "exec-with-limits [--memory BYTES] [--open-files N] [--nice N] [--terminal] -- ARGV…",
		Hidden: true,
		Short:  "Become another program, under limits",
		Long: `Sets the limits on itself and then becomes ARGV in the same process. run starts a service with limits, or at its
terminal, through it.

--memory bounds the writable memory that each process of the service has for itself (RLIMIT_DATA), not its address
space (RLIMIT_AS), of which Node, Go and the JVM reserve far more than they use, and not what the whole service really
uses, which only a cgroup does (MemoryMax= of systemd). An allocation beyond it fails in the program.
` + limitsNote + ``,
		Example: `  hermes-supervisor exec-with-limits --open-files 64 -- sleep 1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() != 0 {
				return &turn.UsageError{Problem: "exec-with-limits takes the program's command line after --"}
			}
			l, err := parseLimits(memory, openFiles, nice)
			if l.terminal = terminal; err == nil {
				err = become(l, args)
			}
			a.code = becomeCode(err)
			a.say("%v", oneLine(err))
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&memory, "memory", "", "`BYTES` of writable memory of its own")
	flags.StringVar(&openFiles, "open-files", "", "`COUNT` of open descriptors, as soft and hard limit")
	flags.StringVar(&nice, "nice", "", "`N` from -20 to 19, the higher the less of the processor")
	flags.BoolVar(&terminal, "terminal", false, "come to the foreground of the terminal")
	return cmd
}

// parseLimits reads the flags, of which an empty one is not given.
func parseLimits(memory, openFiles, nice string) (limits, error) {
	var l limits
	for _, flag := range []struct {
		name, text string
		low, high  int64
		set        func(int64)
	}{
		{"memory", memory, 1, 1<<63 - 1, func(n int64) { l.memory = n }},
		{"open files", openFiles, 1, 1<<31 - 1, func(n int64) { l.openFiles = int(n) }},
		{"nice", nice, -20, 19, func(n int64) { l.nice = int(n) }},
	} {
		if flag.text == "" {
			continue
		}
		n, err := strconv.ParseInt(flag.text, 10, 64)
		if err != nil || n < flag.low || n > flag.high {
			return limits{}, &limitError{fmt.Sprintf("%s %q", flag.name, flag.text), fmt.Errorf("must be %d to %d", flag.low, flag.high)}
		}
		flag.set(n)
	}
	return l, nil
}

// becomeCode is the exit code for what kept this process from becoming another program.
func becomeCode(err error) int {
	if _, bad := errors.AsType[*limitError](err); bad {
		return exitConfiguration
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitNotExecutable
}
