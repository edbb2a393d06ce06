package ident

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// procfs is the root of a proc file system; a parameter so that tests can show us a hostile one.
type procfs string

const proc procfs = "/proc"

// path is the path of a file of the proc file system.
func (p procfs) path(elem ...string) string {
	return filepath.Join(append([]string{string(p)}, elem...)...)
}

// of is the path of a file about one process.
func (p procfs) of(pid int, elem ...string) string {
	return p.path(append([]string{strconv.Itoa(pid)}, elem...)...)
}

// ours checks that this proc file system numbers processes as we do. After unshare --pid without a mount of its own,
// /proc still shows the parent's namespace, and /proc/PID is somebody else.
func (p procfs) ours() error {
	self, err := os.Readlink(p.path("self"))
	if err != nil {
		return err
	}
	if self != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("%s shows another pid namespace than ours", string(p))
	}
	return nil
}

// stat reads the stat line of a process.
func (p procfs) stat(pid int) (stat, error) {
	line, err := os.ReadFile(p.of(pid, "stat"))
	if err != nil {
		return stat{}, err
	}
	return parseStat(line, pid)
}

// isThread says that the number is a thread's and not a process's: /proc/TID exists, though it is not listed.
func (p procfs) isThread(pid int) (bool, error) {
	group, err := p.status(pid, "Tgid:")
	return group != strconv.Itoa(pid), err
}

// status is one entry of /proc/PID/status.
func (p procfs) status(pid int, entry string) (string, error) {
	text, err := os.ReadFile(p.of(pid, "status"))
	if err != nil {
		return "", err
	}
	for line := range bytes.Lines(text) {
		// The name comes first, but is escaped: it cannot feign a line.
		if value, ok := bytes.CutPrefix(line, []byte(entry)); ok {
			return string(bytes.TrimSpace(value)), nil
		}
	}
	return "", fmt.Errorf("status of process %d has no %s", pid, entry)
}

// environMax bounds what is read of one environment. The kernel gives a new program at most 6 MiB of arguments and
// environment together.
const environMax = 8 << 20

// environ reads the environment that a process was started with, nil when there is none to be read (gone, kernel
// thread, zombie, a program just being loaded). When the leader has exited (empty, ESRCH or EACCES then, as kernel and
// user have it), its threads still show it.
func (p procfs) environ(pid int) ([]string, error) {
	env, err := readEnviron(p.of(pid, "environ"))
	if env != nil {
		return env, nil
	}
	if st, statErr := p.stat(pid); statErr != nil || st.state != 'Z' || st.ended() {
		return nil, err
	}
	tasks, err := os.ReadDir(p.of(pid, "task"))
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		if env, err = readEnviron(p.of(pid, "task", task.Name(), "environ")); env != nil {
			return env, nil
		}
	}
	return nil, err
}

func readEnviron(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, environMax))
	if err != nil || len(data) == 0 {
		return nil, err
	}
	return strings.Split(string(data), "\x00"), nil
}

// pids lists the processes.
func (p procfs) pids() ([]int, error) {
	dir, err := os.Open(string(p))
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // it was only read
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// namespace is the inode of one of our namespaces, 0 when it cannot be read.
func (p procfs) namespace(kind string) uint64 {
	var info unix.Stat_t
	if unix.Stat(p.path("self", "ns", kind), &info) != nil {
		return 0
	}
	return info.Ino
}
