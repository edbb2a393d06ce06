//go:build linux

package main

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// argv is a call of hermes-supervisor in this place, whose output goes to a file. It has nothing of the user's own
// configuration in its environment, but the mark, and what kills it.
func (t *tempest) call(out, fault string, args ...string) (*child, error) {
	f, err := os.OpenFile(t.place.file(out), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // the program's copy is what counts
	args = append([]string{"--home", t.place.file("home"), "--config", t.place.file("config", "hermes.toml")}, args...)
	cmd := exec.Command(t.supervisor, args...) //nolint:noctx // a run is ended by nothing but this storm
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.place.dir, f, f
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.place.dir, markVar + "=" + t.mark}
	if fault != "" {
		cmd.Env = append(cmd.Env, faultVar+"="+fault, faultLogVar+"="+t.place.file("fault"))
	}
	return start(cmd)
}

// orderWait is how long a command may take once run is dead: it would wait for an answer, and none comes.
const orderWait = 300 * time.Millisecond

// order gives an order about one service, to a run or (nil) to the files while none is there, and notes what must come
// of it: for certain where it was acknowledged, as possible where run died first. It is refused only by a run that has not
// settled, and before there is a record.
func (t *tempest) order(ctx context.Context, run *child, settled bool) error {
	s := services[t.rand.IntN(len(services))]
	op := []string{"stop", "start", "restart"}[t.rand.IntN(3)]
	if s.restless && op == "stop" || t.wishes[s.name].want != up && t.rand.IntN(2) == 0 {
		op = "start" // fault points are passed by what is restless, and not everything is to end up stopped
	}
	began, err := t.countLaunches()
	if err != nil {
		return err
	}
	_, known, err := t.place.record(s.name)
	if err != nil {
		return err
	}
	args := []string{op, s.name}
	if t.rand.IntN(2) == 0 {
		args = append(args, "--wait=0")
	}
	call, err := t.call("order.out", "", args...)
	if err != nil {
		return err
	}
	if run != nil {
		select {
		case <-call.done:
		case <-run.done:
			if !call.ended(ctx, orderWait) {
				_ = call.Process.Kill() // it may have ended by now
			}
		}
	}
	if !call.ended(ctx, patience) {
		return broken("%s %s takes longer than %v", op, s.name, patience)
	}
	alive := run != nil && !run.ended(ctx, 0)
	switch {
	case call.ProcessState.Success():
		t.wishes[s.name] = wished(op, began[s.name])
		t.tally.orders++
	case settled && known && alive == (run != nil) && !s.restless: // what ends at once may be seen as not started
		said, _ := os.ReadFile(t.place.file("order.out")) // as much as there is
		return broken("%s %s, run alive: %t: %s: %.200s", op, s.name, alive, call.status(), said)
	case known:
		t.wishes[s.name] = wish{want: either}
	}
	return nil
}

// wished is what an acknowledged order asks for.
func wished(op string, launches int) wish {
	switch op {
	case "stop":
		return wish{want: down}
	case "restart":
		return wish{want: up, launches: launches}
	}
	return wish{want: up}
}
