package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// entrant is a supervisor in one way of using it.
type entrant struct {
	name    string
	how     string // it is used, where that is not the only one
	program string // must be in PATH; empty: it is built here
	pack    string // Debian's package that has it
	version string
	// lay writes what it needs to keep n services up into dir, and gives its command line.
	lay  func(b *bench, dir string, n int) ([]string, error)
	env  []string
	stop syscall.Signal // ends it and its services in order; SIGKILL: it has no such signal
	// settle is how long a service has to be up for the supervisor not to hold back the next start of it.
	settle time.Duration
	only   bool // restart is all that it is measured for

	restarts []time.Duration
	idle     *cost
}

func (e *entrant) String() string { return e.name + e.how }

// longUp makes a service one that has been up for long: runit and s6 hold a start back within a second of the last one,
// and ours has given memory back two seconds after it, which it then has to fetch again.
const longUp = 2500 * time.Millisecond

const ours = "hermes-supervisor"

func allEntrants() []*entrant {
	return []*entrant{
		{name: ours, lay: layOurs(noDelay), stop: syscall.SIGTERM, settle: longUp},
		{name: "bare Go loop", lay: layLoop, stop: syscall.SIGKILL, settle: longUp},
		{name: "runit", program: "runsvdir", pack: "runit", lay: layRunit(false), stop: syscall.SIGHUP, settle: longUp},
		{name: "runit", how: ", run is a script", program: "runsvdir", pack: "runit", lay: layRunit(true), stop: syscall.SIGHUP, settle: longUp, only: true},
		{name: "s6", program: "s6-svscan", pack: "s6", lay: layS6(false), env: []string{readyVar + "=1"}, stop: syscall.SIGTERM, settle: longUp},
		{name: "s6", how: ", run is a script", program: "s6-svscan", pack: "s6", lay: layS6(true), env: []string{readyVar + "=1"}, stop: syscall.SIGTERM, settle: longUp, only: true},
		{name: "supervisor", program: "supervisord", pack: "supervisor", lay: laySupervisor, stop: syscall.SIGTERM},
	}
}

// noDelay takes every delay away: a healthy service has no back-off, and one is healthy at once.
const noDelay = `delay = "1ns"
reset_after = "1ns"
storm_starts = 1000
storm_window = "1ms"
`

// layOurs has these settings in [restart].
func layOurs(restart string) func(*bench, string, int) ([]string, error) {
	return func(b *bench, dir string, n int) ([]string, error) { return writeOurs(b, dir, n, restart) }
}

func writeOurs(b *bench, dir string, n int, restart string) ([]string, error) {
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	binary := filepath.Join(dir, "hermes-supervisor") // a copy of its own: of one file, each would count half the pages
	if err := install(b.binary, binary); err != nil {
		return nil, err
	}
	var text strings.Builder
	text.WriteString("[restart]\n" + restart)
	for i := range n {
		fmt.Fprintf(&text, "\n[[service]]\nname = \"service-%04d\"\ncommand = [%q]\n", i, b.service)
	}
	file := filepath.Join(dir, "hermes.toml")
	return []string{binary, "--home", home, "--config", file, "run"}, os.WriteFile(file, []byte(text.String()), 0o600)
}

// install copies a program in small pieces, as installers do: what is written at once stays in the kernel's cache in pieces
// of up to 2 MB, each of which counts as memory of whoever reads one byte of it.
func install(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()                                                     //nolint:errcheck // read only
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700) //nolint:gosec // it is to be executed
	if err != nil {
		return err
	}
	// The wrappings keep io.Copy from handing the whole to the kernel.
	_, err = io.Copy(struct{ io.Writer }{dst}, struct{ io.Reader }{src})
	return errors.Join(err, dst.Close())
}

func layLoop(b *bench, _ string, n int) ([]string, error) {
	return []string{b.loop, strconv.Itoa(n), b.service}, nil
}

func layRunit(script bool) func(*bench, string, int) ([]string, error) {
	return func(b *bench, dir string, n int) ([]string, error) {
		scan := filepath.Join(dir, "scan")
		for i := range n {
			if _, err := layRun(b, scan, i, script); err != nil {
				return nil, err
			}
		}
		return []string{"runsvdir", scan}, nil
	}
}

// layS6 has readiness notified: s6 starts a service that was not ready only a second after its last start.
func layS6(script bool) func(*bench, string, int) ([]string, error) {
	return func(b *bench, dir string, n int) ([]string, error) {
		scan := filepath.Join(dir, "scan")
		for i := range n {
			service, err := layRun(b, scan, i, script)
			if err == nil {
				err = os.WriteFile(filepath.Join(service, "notification-fd"), []byte("3\n"), 0o600)
			}
			if err != nil {
				return nil, err
			}
		}
		return []string{"s6-svscan", scan}, nil
	}
}

// layRun makes the folder of a service of runit or s6.
func layRun(b *bench, scan string, i int, script bool) (string, error) {
	service := filepath.Join(scan, fmt.Sprintf("service-%04d", i))
	if err := os.MkdirAll(service, 0o700); err != nil {
		return "", err
	}
	run := filepath.Join(service, "run")
	if !script {
		return service, os.Symlink(b.service, run)
	}
	text := "#!/bin/sh\nexec " + b.service + "\n"
	return service, os.WriteFile(run, []byte(text), 0o700) //nolint:gosec // it is to be executed
}

func laySupervisor(b *bench, dir string, n int) ([]string, error) {
	text := fmt.Sprintf(`[supervisord]
nodaemon=true
logfile=%[1]s/supervisord.log
pidfile=%[1]s/supervisord.pid
childlogdir=%[1]s

[program:service]
command=%[2]s
process_name=%%(program_name)s-%%(process_num)04d
numprocs=%[3]d
autorestart=true
startsecs=0
`, dir, b.service, n)
	file := filepath.Join(dir, "supervisord.conf")
	return []string{"supervisord", "-n", "-c", file}, os.WriteFile(file, []byte(text), 0o600)
}
