package turn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"time"

	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// output is one stream of one run: a file that the agent writes, so that it outlives its keeper and never blocks on
// it, followed to the keeper's own stream.
type output struct {
	file     *os.File // the agent's end, appending and locked; ours only until the fork
	read     *os.File // what the follower reads, an open file of its own: a keeper must not hold its agent's witness
	follower *process.Follower
	held     bool               // nothing was released yet
	drop     context.CancelFunc // ends the follower without copying
	gone     chan struct{}      // closed when nothing can write any more
	done     chan error
}

// openOutputs makes the files of a run. A terminal is handed over as it is, unless something must read along.
func (j *job) openOutputs(r *run) error {
	readAlong := j.Request.HoldOutput || j.Request.Stall > 0 || j.Request.ID != "" || j.Request.Agent.readsAlong()
	var err error
	if readAlong || !process.IsTerminal(j.Stdout) {
		if r.out, err = j.openOutput(r.instance + ".out"); err != nil {
			return err
		}
	}
	if readAlong || !process.IsTerminal(j.Stderr) {
		if r.err, err = j.openOutput(r.instance + ".err"); err != nil {
			r.out.close()
			return err
		}
	}
	return nil
}

func (j *job) openOutput(name string) (*output, error) {
	file, err := j.Room.Store.NewOutput(name)
	if err != nil {
		return nil, err
	}
	if err := ident.LockWitness(file); err != nil { // inherited like the witness, and held by whatever still writes
		return nil, errors.Join(err, file.Close())
	}
	read, err := j.Room.Store.OpenOutput(name)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &output{file: file, read: read, gone: make(chan struct{}), done: make(chan error, 1)}, nil
}

// target is what the agent writes to: the file, or (nil receiver) the terminal itself.
func (o *output) target(terminal *os.File) *os.File {
	if o == nil {
		return terminal
	}
	return o.file
}

// handOver leaves the agent's end to the agent.
func (o *output) handOver() {
	if o != nil {
		_ = o.file.Close()
	}
}

// follow starts copying to dst. Held output waits for release.
func (o *output) follow(ctx context.Context, dst io.Writer, opts process.FollowOptions) {
	if o == nil {
		return
	}
	ctx, o.drop = context.WithCancel(ctx)
	o.held = opts.Hold
	o.follower = process.NewFollower(o.read, dst, opts)
	go func() { o.done <- o.follower.Run(ctx, o.gone) }()
}

// release lets held output be copied.
func (o *output) release() {
	if o != nil && o.held {
		o.held = false
		o.follower.Release()
	}
}

// finish waits until everything that was written has been copied; what is held and was not released is dropped.
func (o *output) finish() error {
	if o == nil || o.follower == nil {
		return nil
	}
	defer o.close()
	defer o.drop()
	if o.held {
		o.drop()
	}
	close(o.gone)
	if err := <-o.done; err != nil && !o.held {
		return err
	}
	return nil
}

// hurry lets finish wait for a reader only while that reads.
func (o *output) hurry() {
	if o != nil && o.follower != nil {
		o.follower.Hurry()
	}
}

// dropRest lets finish return without a reader that hangs.
func (o *output) dropRest() {
	if o != nil && o.drop != nil {
		o.drop()
	}
}

func (o *output) close() {
	if o != nil {
		_ = o.file.Close() // closed already, where it was handed over
		_ = o.read.Close()
	}
}

// growth is when the stream last grew, or since when it is followed.
func (o *output) growth(since time.Time) time.Time {
	if o == nil || o.follower == nil {
		return since
	}
	if t := o.follower.LastGrowth(); t.After(since) {
		return t
	}
	return since
}

func (r *run) closeOutputs() {
	r.out.close()
	r.err.close()
}

// tailSize is how much of a run's output is searched for the agent's own word on how it ended; followed output is
// punched out up to the same distance from its end.
const tailSize = 1 << 20

// seen is what the output of a run says about its end.
type seen struct{ begun, end, failed, busy, rateLimit, unknown bool }

// into puts it into the facts of an end.
func (s seen) into(e *policy.ExitFacts) {
	e.BeginEvent, e.EndEvent, e.ErrorEvent = s.begun, s.end, s.failed
	e.BusyEvent, e.RateLimitEvent = s.busy, s.rateLimit
}

// search reads the tails of an instance's output for the agent's events, and the head for that of the begin. Files that are gone, or were never made
// because a terminal was handed over, say nothing.
func (r *Room) search(instance string, a Agent) (seen, error) {
	var s seen
	e := a.Events
	if !a.readsAlong() || instance == "" {
		return s, nil
	}
	out, err := r.tail(instance + ".out")
	if err != nil {
		return s, err
	}
	errs, err := r.tail(instance + ".err")
	if err != nil {
		return s, err
	}
	s.end, s.failed = matches(e.End, out), matches(e.Error, out)
	if s.begun = matches(e.Begin, out); !s.begun && e.Begin != nil {
		head, err := r.head(instance + ".out")
		if err != nil {
			return s, err
		}
		s.begun = matches(e.Begin, head)
	}
	said := func(re *regexp.Regexp, onStderr bool) bool { return matches(re, errs) || !onStderr && matches(re, out) }
	s.busy, s.rateLimit = said(e.Busy, a.OnStderr.Busy), said(e.RateLimit, a.OnStderr.RateLimit)
	s.unknown = said(a.Own.Unknown, a.OnStderr.UnknownSession)
	return s, nil
}

// head is what a file keeps whatever is freed behind it.
func (r *Room) head(name string) ([]byte, error) {
	f, err := r.Store.OpenRun(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	return io.ReadAll(io.NewSectionReader(f, 0, headSize))
}

func (r *Room) tail(name string) ([]byte, error) {
	f, err := r.Store.OpenRun(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-tailSize)
	return io.ReadAll(io.NewSectionReader(f, from, tailSize))
}

func matches(re *regexp.Regexp, text []byte) bool {
	if re == nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if re.Match(bytes.TrimRight(line, "\r\n")) {
			return true
		}
	}
	return false
}

// replay prints what a run that had ended before left behind, as its own keeper would have: all of it where the request
// has an id, else at most the tail, since what was followed may have been punched out before that. An order drops the rest.
func (j *job) replay(instance string) {
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		j.printAgain(instance)
	}()
	select {
	case <-printed:
	case <-j.Orders:
		j.asked = true
	}
}

func (j *job) printAgain(instance string) {
	for _, s := range []struct {
		suffix string
		dst    io.Writer
	}{{".out", j.Stdout}, {".err", j.Stderr}} {
		f, err := j.Room.Store.OpenRun(instance + s.suffix)
		if err != nil {
			continue
		}
		if info, err := f.Stat(); err == nil && info.Size() > tailSize && j.Request.ID == "" {
			_, _ = f.Seek(-tailSize, io.SeekEnd)
		}
		_, _ = io.Copy(s.dst, f)
		_ = f.Close()
	}
}
