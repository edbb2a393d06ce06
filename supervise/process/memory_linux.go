package process

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dropProgramPages unmaps the pages of this program's own read-only mappings; the kernel maps each again, from its
// cache of the file, when it is touched. MADV_DONTNEED would lose what a page holds beside the file (relocations), so
// only a mapping without a page of its own qualifies: "Anonymous: 0 kB" in smaps(5). Whatever fails, nothing is lost.
func dropProgramPages() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer smaps.Close() //nolint:errcheck // only read
	var found []mapping
	var m mapping
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		if next, starts := parseMapping(lines.Text()); starts {
			m = next
		} else if m.path == program && lines.Text() == "Anonymous:             0 kB" {
			found = append(found, m)
		}
	}
	for _, m := range found {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED) // x/sys wants a slice, which an address is not
	}
}

// mapping is one line of /proc/PID/maps that cannot be written to.
type mapping struct {
	start, end uintptr
	path       string
}

// parseMapping reads the first line of an entry of smaps: "00400000-00452000 r-xp 00000000 08:02 173521  /usr/bin/dbus".
// It starts an entry also when the mapping does not qualify, which the empty path says.
func parseMapping(line string) (m mapping, starts bool) {
	fields := strings.Fields(line)
	if len(fields) < 5 || strings.HasSuffix(fields[0], ":") {
		return m, false
	}
	from, to, found := strings.Cut(fields[0], "-")
	start, err1 := strconv.ParseUint(from, 16, 64)
	end, err2 := strconv.ParseUint(to, 16, 64)
	if len(fields) == 6 && found && err1 == nil && err2 == nil && start < end && !strings.Contains(fields[1], "w") {
		m = mapping{start: uintptr(start), end: uintptr(end), path: fields[5]}
	}
	return m, true
}
