package service

import (
	"context"
	"errors"
	"os"
	"time"

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
		if err := health.Watch(ctx, check, spec.Interval, spec.Timeout, spec.Failures); err != nil && ctx.Err() == nil {
			tell(phase.Unhealthy, err)
		}
	}()
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
