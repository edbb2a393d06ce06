package health

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"time"
)

// Probe is one question to a service. Exactly one of Output, File, TCP, HTTP and Heartbeat is set.
type Probe struct {
	// Output is ready when a line of stdout or stderr matches that this launch wrote. See Stream.
	Output *regexp.Regexp
	// Told takes the first group of that line, if it has one, before Await returns; nil: nobody asks.
	Told func(group string) `json:"-"`
	// File is ready when the path exists and was changed since the launch, and healthy while it exists. Links are
	// followed, and any kind of file will do: a socket that the service makes, a folder, a FIFO.
	File string
	// Match is what the file has to hold to be ready: it is read as far as 64 KiB. nil: whatever it holds.
	Match *regexp.Regexp
	// TCP is "host:port": ready and healthy when a connection is accepted.
	TCP string
	// HTTP is an http:// URL: ready and healthy when a GET answers with one of Status. No redirect is followed, no proxy
	// asked, no body read; https is refused by Validate.
	HTTP string
	// Status are the accepted codes of HTTP; empty: any from 200 to 399.
	Status []int
	// Heartbeat is the path of a file that the service touches while all is well. It is healthy when the file was
	// touched within MaxAge; where it has not been touched since the launch, only MaxAge after that is it not. As a
	// readiness probe, the first touch counts. Links are followed.
	Heartbeat string
	MaxAge    time.Duration
	// Optional: a heartbeat that has not been touched since the launch says nothing, since not every version of the
	// service writes it, and one that does not may have come after one that did.
	Optional bool
}

// Validate says what is wrong with a probe, as one phrase for the configuration's error.
func (p Probe) Validate() error {
	kinds := 0
	for _, set := range []bool{p.Output != nil, p.File != "", p.TCP != "", p.HTTP != "", p.Heartbeat != ""} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return fmt.Errorf("takes exactly one of output, file, tcp, http and heartbeat, not %d", kinds)
	case p.Heartbeat != "" && p.MaxAge <= 0:
		return errors.New("heartbeat needs a max_age above zero")
	case p.Heartbeat == "" && p.MaxAge != 0:
		return errors.New("max_age is for a heartbeat only")
	case p.Match != nil && p.File == "":
		return errors.New("match is for a file only")
	case p.Optional && p.Heartbeat == "":
		return errors.New("optional is for a heartbeat only")
	case p.HTTP == "" && len(p.Status) > 0:
		return errors.New("status is for http only")
	case p.TCP != "":
		return checkAddress(p.TCP)
	case p.HTTP != "":
		_, err := parseURL(p.HTTP)
		if err != nil {
			return err
		}
	}
	for _, code := range p.Status {
		if code < 100 || code > 599 {
			return fmt.Errorf("%d is no HTTP status", code)
		}
	}
	return nil
}

// Repeats says whether Check can ask again: a line of output is written once, so Output cannot.
func (p Probe) Repeats() bool { return p.Output == nil }

// Await returns nil once the service is ready that was launched at started, whose output is out. Else it returns when
// ctx ends, with what was missing last and the cause of that end (both for errors.Is), or at once when out cannot be
// read. TCP and HTTP are asked after 10 ms at first and every second at last, output and files are looked at every
// 2 to 250 ms.
func (p Probe) Await(ctx context.Context, started time.Time, out ...Stream) error {
	looks := pace{next: 2 * time.Millisecond, most: 250 * time.Millisecond}
	asks := pace{next: 10 * time.Millisecond, most: time.Second}
	switch {
	case p.Output != nil:
		return awaitLine(ctx, looks, p.Output, out, p.Told)
	case p.File != "":
		return await(ctx, looks, func() error {
			if err := fresh(p.File, started); err != nil || p.Match == nil {
				return err
			}
			return holds(p.File, p.Match)
		})
	case p.Heartbeat != "":
		return await(ctx, looks, func() error { return fresh(p.Heartbeat, started) })
	}
	return await(ctx, asks, func() error { return p.Check(ctx, started, time.Time{}) })
}

// Check asks once whether the service works that was launched at started. It takes at most 5 s, less where ctx ends
// before. woke is when nothing had run for a while, as Watch tells it: a heartbeat then has MaxAge to come; zero: never.
// The error is what is wrong, in one line.
func (p Probe) Check(ctx context.Context, started, woke time.Time) error {
	switch {
	case p.TCP != "":
		return connect(ctx, p.TCP)
	case p.HTTP != "":
		return get(ctx, (&net.Dialer{}).DialContext, p.HTTP, p.Status)
	case p.File != "":
		return exists(p.File)
	case p.Heartbeat != "":
		if p.Optional && !touched(p.Heartbeat, started) {
			return nil
		}
		return beats(p.Heartbeat, p.MaxAge, started, woke, time.Now())
	case p.Output != nil:
		return errors.New("output is written once and cannot be asked for again")
	}
	return errors.New("no probe is set")
}

// await tries until it goes well. The error of a try that the end of ctx cut short says nothing: the one before does.
func await(ctx context.Context, p pace, try func() error) error {
	var problem error
	for {
		err := try()
		if err == nil {
			return nil
		}
		if problem == nil || ctx.Err() == nil {
			problem = err
		}
		if err := p.wait(ctx); err != nil {
			return fmt.Errorf("%w: %w", problem, err)
		}
	}
}
