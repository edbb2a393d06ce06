package doctor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// What `run` asks of inotify: one instance for the process, two watches for the root home and its profiles, three for each
// home, and one for each service's files. An agent that watches its folder has an instance of its own beside it.
const (
	needInstances    = 2
	watchesOfRoot    = 2
	watchesOfHome    = 3
	watchesOfService = 2
)

// lookAtInotify counts what this user has of the kernel's budget. Without a watch `run` polls, so nothing is lost, but
// everything is seen later.
func lookAtInotify(ctx context.Context, e Env) []Finding {
	limits := filepath.Join(e.Proc, "sys", "fs", "inotify")
	if _, err := os.Stat(limits); e.Proc == "" || err != nil {
		return ok("not needed on this system")
	}
	maxInstances, errI := number(filepath.Join(limits, "max_user_instances"))
	maxWatches, errW := number(filepath.Join(limits, "max_user_watches"))
	if errI != nil || errW != nil {
		return ok("the kernel does not tell its limits")
	}
	instances, watches := e.watching(ctx)
	needWatches := watchesOfRoot + watchesOfHome*len(e.Places()) + watchesOfService*len(e.Config.Services)
	var found []Finding
	if free := maxInstances - instances; free < needInstances {
		found = append(found, warning(fmt.Sprintf("%d of %d inotify instances are in use by you, %d are needed: changes are polled for instead", instances, maxInstances, needInstances),
			fmt.Sprintf("sudo sysctl fs.inotify.max_user_instances=%d", max(512, 2*maxInstances))))
	}
	if free := maxWatches - watches; free < needWatches {
		found = append(found, warning(fmt.Sprintf("%d of %d inotify watches are in use by you, %d are needed: changes are polled for instead", watches, maxWatches, needWatches),
			fmt.Sprintf("sudo sysctl fs.inotify.max_user_watches=%d", max(524288, 2*maxWatches))))
	}
	return orOK(found, "%d of %d instances, %d of %d watches in use by you", instances, maxInstances, watches, maxWatches)
}

func number(path string) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

// watching counts the instances and watches of this user's processes, as far as /proc shows them.
func (e Env) watching(ctx context.Context) (instances, watches int) {
	processes, err := os.ReadDir(e.Proc)
	if err != nil {
		return 0, 0
	}
	for _, p := range processes {
		if _, err := strconv.Atoi(p.Name()); err != nil || ctx.Err() != nil {
			continue
		}
		dir := filepath.Join(e.Proc, p.Name())
		if info, err := os.Stat(dir); err != nil || !owned(info) {
			continue
		}
		open, err := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil {
			continue
		}
		for _, fd := range open {
			target, err := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
			if err != nil || !strings.HasSuffix(target, "inotify") {
				continue
			}
			instances++
			watches += watchesIn(filepath.Join(dir, "fdinfo", fd.Name()))
		}
	}
	return instances, watches
}

// watchesIn counts the lines of one descriptor's watches (proc_pid_fdinfo(5)).
func watchesIn(path string) (n int) {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close() //nolint:errcheck // read only
	lines := bufio.NewScanner(io.LimitReader(f, 64<<20))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "inotify ") {
			n++
		}
	}
	return n
}
