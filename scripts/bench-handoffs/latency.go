package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hermes-supervisor/policy/queue"
	"hermes-supervisor/scripts/bench"
	"hermes-supervisor/supervise/handoff"
)

// latency is the time from a request, before its durable write, to the first instruction of the platform's command, with
// the claim on disk in between; beside it the peer, which records nothing.
func (h *handoffs) latency(ctx context.Context) error {
	q, err := h.home("latency")
	if err != nil {
		return err
	}
	defer q.Files.Store.Close() //nolint:errcheck // a directory handle
	ours, err := start(h.Command(ctx, q.Files.Store.Home().Path, "handoff", "watch"))
	if err != nil {
		return err
	}
	folder := filepath.Join(h.Dir, "renamed")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	peer := exec.CommandContext(ctx, h.loop, folder, h.first, h.notes())
	out, err := peer.StdoutPipe()
	if err != nil {
		return err
	}
	loop, err := start(peer)
	if err != nil {
		return err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return err
	}
	n := 0
	request := func() (time.Duration, error) {
		n++
		return h.handed(ctx, q, n)
	}
	rename := func() (time.Duration, error) {
		n++
		return h.renamed(ctx, folder, n)
	}
	if _, err := request(); err != nil { // it is up
		return err
	}
	medians, err := h.InterleaveTimed(request, rename)
	if err = errors.Join(err, ours.stop(), loop.stop()); err != nil {
		return err
	}
	h.Held("request to the command's first instruction", bench.Ms(medians[0]), "a bare fsnotify loop: "+bench.Ms(medians[1]),
		"below 10 ms", medians[0] < 10*time.Millisecond)
	h.Row("  Hermes polls", "2000 ms", "after a first 5000 ms")
	return nil
}

// handed hands one session over, and waits until that has ended.
func (h *handoffs) handed(ctx context.Context, q *handoff.Queue, n int) (time.Duration, error) {
	r, _, err := q.Request(ctx, handoff.Request{Session: fmt.Sprintf("s-%d", n), Platform: "noted", Note: "a note"})
	if err != nil {
		return 0, err
	}
	began, err := h.noted(ctx, n)
	if err != nil {
		return 0, err
	}
	err = until(ctx, "it has ended", func() (bool, error) {
		now, err := q.Files.Get(r.ID)
		return err == nil && now.State == string(queue.Completed), err
	})
	return began.Sub(r.RequestedAt), err
}

// renamed does what a request does for a peer that needs no record: a durable file under its name.
func (h *handoffs) renamed(ctx context.Context, folder string, n int) (time.Duration, error) {
	at := time.Now()
	file := filepath.Join(h.Dir, "new")
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	_, err = f.WriteString(strings.Repeat("x", 400))
	if err := errors.Join(err, f.Sync(), f.Close(), os.Rename(file, filepath.Join(folder, strconv.Itoa(n)))); err != nil {
		return 0, err
	}
	began, err := h.noted(ctx, n)
	return began.Sub(at), err
}

// noted waits for the nth note, and gives its time.
func (h *handoffs) noted(ctx context.Context, n int) (at time.Time, err error) {
	err = until(ctx, "the command has begun", func() (bool, error) {
		text, _ := os.ReadFile(h.notes()) // not there yet
		lines := strings.Split(string(text), "\n")
		if len(lines) <= n { // one more than lines that are complete
			return false, nil
		}
		ns, err := strconv.ParseInt(lines[n-1], 10, 64)
		at = time.Unix(0, ns)
		return true, err
	})
	return at, err
}
