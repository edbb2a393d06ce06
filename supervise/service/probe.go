package service

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/awake"
	"hermes-supervisor/supervise/health"
)

// probe begins what tells whether the launch is ready, and then whether it is healthy. out are the files that it writes
// to, at whose ends it began; none for an adopted one.
func (j *job) probe(l *launch, out ...health.Stream) {
	spec, ctx := j.spec, l.ctx
	waits := spec.Ready != nil && j.state.Phase == phase.Starting
	if !waits {
		closeStreams(out)
	}
	if !waits && spec.Health == nil {
		return
	}
	told := j.tellOf(l)
	tell := func(kind phase.Kind, why error) {
		if why != nil {
			j.Log.Warn("service gave no sign", "service", spec.Name, "probe", kind.String(), "error", why.Error())
		}
		select {
		case j.events <- phase.Event{Kind: kind, Epoch: l.number}:
		case <-ctx.Done():
		}
	}
	go func() {
		if waits {
			err := awaitReady(ctx, spec, l.began, out, told)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				tell(phase.ReadyDeadline, err)
				return
			}
			tell(phase.Ready, nil)
		}
		if spec.Health == nil {
			return
		}
		check := func(ctx context.Context, woke time.Time) error { return spec.Health.Check(ctx, l.began, woke) }
		if err := health.Watch(ctx, check, spec.Interval, spec.Timeout, spec.Failures, j.tellChecks(l)); err != nil && ctx.Err() == nil {
			tell(phase.Unhealthy, err)
		}
	}()
}

// checked is what a launch's health checks have come to.
type checked struct {
	launch  int64
	failing *fsstate.Failing // nil: the last one succeeded
}

// maxWhy bounds what a record says of a failed check, in bytes.
const maxWhy = 200

// tellChecks hands what a health check says to the runner.
func (j *job) tellChecks(l *launch) func(failed int, why error) {
	of := j.spec.Failures
	return func(failed int, why error) {
		c := checked{launch: l.number}
		if failed > 0 {
			text := why.Error()
			c.failing = &fsstate.Failing{Checks: failed, Of: of, Why: strings.ToValidUTF8(text[:min(len(text), maxWhy)], ""), At: time.Now().UTC()}
		}
		select {
		case j.checks <- c:
		case <-l.ctx.Done():
		}
	}
}

// noteChecks records it, for those who look on: nothing is decided by it here.
func (j *job) noteChecks(c checked) {
	if j.launch == nil || j.launch.number != c.launch {
		return
	}
	j.rec.Failing = c.failing
	j.Gate <- struct{}{}
	j.save()
	<-j.Gate
}

func awaitReady(ctx context.Context, spec Spec, began time.Time, out []health.Stream, told func(string)) error {
	defer closeStreams(out)
	if spec.ReadyDeadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = awake.WithTimeout(ctx, spec.ReadyDeadline)
		defer cancel()
	}
	ready := *spec.Ready
	ready.Told = told
	return ready.Await(ctx, began, out...)
}

func closeStreams(out []health.Stream) {
	for _, s := range out {
		_ = s.File.Close()
	}
}

// streams are second openings of the output files, for a probe that reads what the launch is about to write.
func (j *job) streams() ([]health.Stream, error) {
	if j.spec.Ready == nil || j.spec.Ready.Output == nil {
		return nil, nil
	}
	stdout, stderr, err := j.Output.Files()
	if err != nil {
		return nil, err
	}
	streams := make([]health.Stream, 0, 2)
	for _, f := range []*os.File{stdout, stderr} {
		info, serr := f.Stat()
		if serr != nil {
			err = errors.Join(err, serr)
			continue
		}
		streams = append(streams, health.Stream{File: f, From: info.Size()})
	}
	return streams, err
}
