package ident

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func pids() ([]int, error)                         { return proc.pids() }
func commandLine(pid int) ([]string, error)        { return proc.commandLine(pid) }
func environment(pid int) ([]string, error)        { return proc.environ(pid) }
func name(pid int) (string, error)                 { return proc.name(pid) }
func user(pid int) (int, error)                    { return proc.user(pid) }
func created(pid int) (seconds float64, err error) { return proc.created(pid) }

func parent(pid int) (int, error) {
	st, err := proc.stat(pid)
	return st.parent, err
}

// executable: the kernel says " (deleted)" behind the path of a file that an update has replaced.
func executable(pid int) (string, error) {
	path, err := os.Readlink(proc.of(pid, "exe"))
	return strings.TrimSuffix(path, " (deleted)"), err
}

func (p procfs) commandLine(pid int) ([]string, error) {
	text, err := os.ReadFile(p.of(pid, "cmdline"))
	if text = bytes.TrimRight(text, "\x00"); err != nil || len(text) == 0 {
		return nil, err
	}
	return strings.Split(string(text), "\x00"), nil
}

// commLength is how much of a name the kernel keeps (TASK_COMM_LEN without its end).
const commLength = 15

func (p procfs) name(pid int) (string, error) {
	comm, err := os.ReadFile(p.of(pid, "comm"))
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(string(comm), "\n")
	if len(name) < commLength {
		return name, nil
	}
	argv, err := p.commandLine(pid)
	if err == nil && len(argv) > 0 {
		if whole := filepath.Base(argv[0]); strings.HasPrefix(whole, name) {
			return whole, nil
		}
	}
	return name, nil
}

func (p procfs) user(pid int) (int, error) {
	ids, err := p.status(pid, "Uid:")
	if err != nil {
		return 0, err
	}
	if fields := strings.Fields(ids); len(fields) > 0 {
		return strconv.Atoi(fields[0])
	}
	return 0, fmt.Errorf("status of process %d names no user", pid)
}

// userHZ is how many of its ticks the kernel tells user space to be a second, on every architecture that Go has
// (USER_HZ, proc_pid_stat(5)).
const userHZ = 100

// created is what psutil makes of it: the ticks since boot upon the time of the boot, which moves with the clock.
func (p procfs) created(pid int) (seconds float64, err error) {
	st, err := p.stat(pid)
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(p.path("stat"))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if after, ok := bytes.CutPrefix(line, []byte("btime ")); ok {
			boot, err := strconv.ParseInt(string(bytes.TrimSpace(after)), 10, 64)
			return float64(boot) + float64(st.start)/userHZ, err
		}
	}
	return 0, fmt.Errorf("%s names no time of the boot", p.path("stat"))
}
