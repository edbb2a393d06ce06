//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	quiet    = 15 * time.Second // everything that was left behind has ended by itself long before
	keepTime = 2 * time.Hour    // older than what the sweep spares
)

// endOfRound judges what a round has left: no process, no marker, and nothing that the sweep does not take.
func (r *round) endOfRound(ctx context.Context) error {
	if err := r.awaitNobody(ctx); err != nil {
		return err
	}
	if left, err := r.files("turns"); err != nil || len(left) > 0 {
		return errors.Join(err, left.broken("left in turns/"))
	}
	for _, folder := range []string{"run", "tmp"} {
		left, err := r.files(folder)
		if err != nil {
			return err
		}
		for _, file := range left {
			old := time.Now().Add(-keepTime)
			if err := os.Chtimes(r.place.state(folder, file), old, old); err != nil {
				return err
			}
		}
	}
	// Every call sweeps beside its agent, as far as it gets while that works.
	w := &worker{round: r, n: -1, quiet: true, rand: r.calmRand(), session: "sweep", killed: map[target]bool{}}
	var err error
	if w.log, err = openLog(r.place.log(w.session)); err != nil {
		return err
	}
	defer w.close()
	var left listing
	left, err = r.unexplained()
	for before := len(left) + 1; err == nil && 0 < len(left) && len(left) < before; { // for as long as it gets on
		before = len(left)
		if err := w.quietTurn(ctx, 1000); err != nil {
			return err
		}
		left, err = r.unexplained()
	}
	if err != nil || len(left) > 0 {
		return errors.Join(err, left.broken("left in run/ and tmp/ after a sweep"))
	}
	if err := w.quietTurn(ctx, 0); err != nil { // which has nothing to leave
		return err
	}
	if left, err = r.unexplained(); err != nil || len(left) > 0 {
		return errors.Join(err, left.broken("left in run/ and tmp/ by a turn to which nothing happened"))
	}
	return r.awaitNobody(ctx)
}

// quietTurn is a turn to which nothing happens.
func (w *worker) quietTurn(ctx context.Context, work int) error {
	p := w.newPrompt()
	p.id, p.receipt = false, false
	sc := scene{script: script{Acts: []act{{Work: work, End: endOK, Stdin: stdinKeep}}}}
	c := w.newCall(p, giveOwn, sc)
	if err := w.start(c); err != nil {
		return err
	}
	if err := w.attend(ctx, c); err != nil {
		return err
	}
	if err := w.settle([]*call{c}); err != nil {
		return err
	}
	if p.how != concluded {
		return w.broken("a turn to which nothing happened did not conclude")
	}
	return nil
}

// awaitNobody waits until no process of the storm is left but this one.
func (r *round) awaitNobody(ctx context.Context) error {
	for until := time.Now().Add(quiet); !r.children.none(); time.Sleep(pollEvery) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().Before(until) {
			continue
		}
		all, err := descendants()
		var left listing
		for _, t := range all {
			left = append(left, fmt.Sprintf("pid %d: %s", t.pid, t.command()))
		}
		return errors.Join(err, left.broken("processes left"))
	}
	return nil
}

// A listing is what should not be there.
type listing []string

func (l listing) broken(rule string) error {
	if len(l) == 0 {
		return nil
	}
	return &brokenError{rule: fmt.Sprintf("%s: %d", rule, len(l)), story: "  " + strings.Join(l[:min(len(l), 50)], "\n  ")}
}

func (r *round) files(folder string) (listing, error) {
	entries, err := os.ReadDir(r.place.state(folder))
	if err != nil {
		return nil, err
	}
	names := make(listing, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// unexplained are the files in run/ and tmp/, but for those of an instance that a record in ended/ or outcomes/ names,
// and records that were set aside as broken.
func (r *round) unexplained() (listing, error) {
	left, err := r.files("tmp")
	if err != nil {
		return nil, err
	}
	var records strings.Builder
	for _, folder := range []string{"ended", "outcomes"} {
		names, err := r.files(folder)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(r.place.state(folder), name))
			if err != nil {
				return nil, err
			}
			records.Write(data)
		}
	}
	running, err := r.files("run")
	if err != nil {
		return nil, err
	}
	named := records.String()
	for _, name := range running {
		if instance, _, _ := strings.Cut(name, "."); !strings.Contains(named, instance) {
			left = append(left, "run/"+name)
		}
	}
	for _, folder := range []string{"turns", "ended", "outcomes", "requests"} {
		names, err := r.files(folder)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.DeleteFunc(names, func(n string) bool { return !strings.Contains(n, ".corrupt-") }) {
			left = append(left, folder+"/"+name)
		}
	}
	return left, nil
}
