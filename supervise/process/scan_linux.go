package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"syscall"

	"hermes-supervisor/fsstate/ident"

	"golang.org/x/sys/unix"
)

// scan looks at the processes named by roots and at everything below them; the calling process is only looked below.
// settled is false when something ended or moved meanwhile.
func scan(roots []int) (procs []proc, settled bool, err error) {
	if !hasChildrenFiles() {
		return scanTable(roots)
	}
	settled = true
	self := os.Getpid()
	seen := map[int]bool{self: true}
	var queue []int
	add := func(pid, parent int) {
		if seen[pid] {
			return
		}
		p, err := readProc(pid)
		if err != nil && parent == 0 {
			return // a root that is gone has nothing below it
		}
		if err != nil || parent != 0 && p.ppid != parent {
			settled = false
			// Reparented since it was listed, or another process under its number: ours only if below us still.
			if err != nil || !seen[p.ppid] {
				return
			}
		}
		seen[pid] = true
		procs = append(procs, p)
		if p.living {
			queue = append(queue, pid)
		}
	}
	for _, root := range roots {
		if root == self {
			queue = append(queue, self)
		} else {
			add(root, 0)
		}
	}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		children, whole := childrenOf(pid)
		settled = settled && whole
		for _, c := range children {
			add(c, pid)
		}
	}
	return procs, settled, nil
}

// hasChildrenFiles tells whether this kernel lists children (CONFIG_PROC_CHILDREN), which costs as much as the tree is
// large, not as the machine is busy.
var hasChildrenFiles = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/thread-self/children")
	return err == nil
})

// orphans are the children of this process's main thread, of which the kernel makes it the parent when theirs is gone:
// it takes the first thread that lives (find_new_reaper in kernel/exit.c), which in a Go program is the main one. Those
// that other threads forked are Start's.
func orphans() (children []int, known bool) {
	if !hasChildrenFiles() {
		return nil, false
	}
	self := strconv.Itoa(os.Getpid())
	text, err := readAll("/proc/" + self + "/task/" + self + "/children")
	if err != nil {
		return nil, false
	}
	return appendPIDs(nil, text), true
}

func appendPIDs(pids []int, text []byte) []int {
	for field := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// childrenOf lists the children of all threads of a process. whole is false when a thread ended meanwhile.
func childrenOf(pid int) (children []int, whole bool) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	d, err := os.Open(dir)
	if err != nil {
		return nil, false
	}
	tids, err := d.Readdirnames(-1)
	_ = d.Close()
	whole = err == nil
	for _, tid := range tids {
		text, err := readAll(dir + "/" + tid + "/children")
		whole = whole && err == nil
		children = appendPIDs(children, text)
	}
	return children, whole
}

// readProc reads one line of the process table. The error is fs.ErrNotExist or ESRCH when there is no such process.
func readProc(pid int) (proc, error) {
	path := "/proc/" + strconv.Itoa(pid)
	text, err := readAll(path + "/stat")
	if err != nil {
		return proc{}, err
	}
	p, ok := parseStat(text)
	if !ok {
		return proc{}, fmt.Errorf("read %s/stat: not in the form of proc(5)", path)
	}
	var st unix.Stat_t
	p.mine = unix.Stat(path, &st) == nil && int(st.Uid) == os.Geteuid()
	return p, nil
}

// parseStat reads /proc/PID/stat, see proc_pid_stat(5). The name in it may hold anything, ") R 1 (" too: what follows
// begins after the last parenthesis.
func parseStat(text []byte) (proc, bool) {
	open, closed := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || closed < open {
		return proc{}, false
	}
	fields := bytes.Fields(text[closed+1:])
	if len(fields) < 20 || len(fields[0]) != 1 {
		return proc{}, false
	}
	ok := true
	number := func(field []byte) int64 {
		n, err := strconv.ParseInt(string(field), 10, 64)
		ok = ok && err == nil
		return n
	}
	p := proc{
		pid:  int(number(bytes.TrimSpace(text[:open]))),
		ppid: int(number(fields[1])),
		pgid: int(number(fields[2])),
		sid:  int(number(fields[3])),
	}
	p.start = number(fields[19])
	threads := number(fields[17])
	zombie := fields[0][0] == 'Z' || fields[0][0] == 'X' || fields[0][0] == 'x'
	p.living = !zombie || threads > 1 // a leader that left by pthread_exit is a zombie while its threads work on
	return p, ok
}

// newTags reads the instance out of environments, each at most once.
func newTags(string) func(pid int) string {
	cache := map[int]string{}
	return func(pid int) string {
		tag, ok := cache[pid]
		if !ok {
			text, err := readAll("/proc/" + strconv.Itoa(pid) + "/environ")
			if err == nil {
				tag = tagIn(text)
			}
			cache[pid] = tag
		}
		return tag
	}
}

// tagIn finds the instance in a block of NUL-terminated assignments. The first one counts, as for getenv.
func tagIn(environ []byte) string {
	for kv := range bytes.SplitSeq(environ, []byte{0}) {
		if name, value, ok := bytes.Cut(kv, []byte{'='}); ok && string(name) == ident.InstanceVar {
			return string(value)
		}
	}
	return ""
}

// maxProcFile bounds what is read of one file of /proc: the kernel limits an environment to a quarter of the stack,
// which can be large.
const maxProcFile = 16 << 20

// readAll reads a file of /proc with bare system calls: os.ReadFile offers each one to the poller first, which doubles
// the time of a scan.
func readAll(path string) ([]byte, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	text := make([]byte, 0, 2048)
	for len(text) < maxProcFile {
		if len(text) == cap(text) {
			text = append(text, 0)[:len(text)]
		}
		n, err := retry(func() (int, error) { return unix.Read(fd, text[len(text):cap(text)]) })
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return text, nil
		}
		text = text[:len(text)+n]
	}
	return nil, &fs.PathError{Op: "read", Path: path, Err: io.ErrShortBuffer}
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
