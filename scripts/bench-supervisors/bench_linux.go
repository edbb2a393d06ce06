package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// bench is one run: the programs under test, where they work, and what has been found.
type bench struct {
	options

	dir      string
	loop     string // the bare loop
	service  string // what all of them run
	entrants []*entrant
	running  map[int]bool // the supervisors that have been started and not been ended, by pid
	report   report
	progress io.Writer
	began    time.Time
}

// measure runs the measurements that are wanted. What was measured before an error is printed as well.
func measure(ctx context.Context, o options, stdout, stderr io.Writer) error {
	b := &bench{options: o, running: map[int]bool{}, progress: stderr, began: time.Now()}
	defer func() {
		if b.dir != "" {
			_ = os.RemoveAll(b.dir)
		}
	}()
	if err := b.prepare(ctx); err != nil {
		return err
	}
	var err error
	for _, m := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"restart", b.restart},
		{"idle", b.idleness},
		{"many", b.manyServices},
		{"storm", b.stormy},
		{restartsName, b.manyRestarts},
	} {
		if !o.only.MatchString(m.name) {
			continue
		}
		if err = m.run(ctx); err != nil {
			err = fmt.Errorf("%s: %w", m.name, err)
			break
		}
	}
	b.say("done")
	b.report.write(stdout, b)
	return err
}

// prepare builds what is measured, and finds the peers.
func (b *bench) prepare(ctx context.Context) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the subreaper of what is started: %w", err)
	}
	dir := b.options.dir
	if dir == "" {
		var err error
		if dir, err = os.UserCacheDir(); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	var err error
	if b.dir, err = os.MkdirTemp(dir, "bench-supervisors-"); err != nil {
		return err
	}
	b.say("building")
	b.loop, b.service = filepath.Join(b.dir, "loop"), filepath.Join(b.dir, "service")
	build := [][]string{
		{"go", "build", "-trimpath", "-o", b.loop, filepath.Join(b.dir, "loop.go")},
		{"cc", "-O2", "-static", "-o", b.service, filepath.Join(b.dir, "service.c")},
	}
	if b.binary == "" {
		b.binary = filepath.Join(b.dir, "hermes-supervisor")
		build = append(build, []string{"go", "build", "-trimpath", "-o", b.binary, "hermes-supervisor/cmd/hermes-supervisor"})
	}
	for name, source := range map[string]string{"loop.go": loopSource, "service.c": serviceSource} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(source), 0o600); err != nil {
			return err
		}
	}
	for _, argv := range build {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", argv[len(argv)-1], err, text)
		}
	}
	if b.report.fsync, err = b.fsync(); err != nil {
		return err
	}
	b.report.load = loadAverage()
	b.findPeers(ctx)
	return nil
}

// fsync is what one durable step costs here: a new 2 KB file, written and synced.
func (b *bench) fsync() (time.Duration, error) {
	var all []time.Duration
	for range 21 {
		began := time.Now()
		f, err := os.Create(filepath.Join(b.dir, "sync"))
		if err != nil {
			return 0, err
		}
		_, err = f.Write(make([]byte, 2048))
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			return 0, err
		}
		all = append(all, time.Since(began))
	}
	return quantile(all, 0.5), nil
}

// say tells how far the run is.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, "%6.1fs  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
