package handoff

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/process"
)

// A "helpless" keeper is one that cannot end what its command has left: it gives up before the first SIGKILL.
func init() {
	parts["helpless"] = func([]string) int {
		var c call
		if err := json.Unmarshal([]byte(os.Getenv(callVar)), &c); err != nil {
			return 98
		}
		_ = os.Unsetenv(callVar)
		data, err := json.Marshal(resultOf(keepHelplessly(c)))
		if err != nil || os.WriteFile(c.Report, data, 0o600) != nil {
			return 98
		}
		return 0
	}
}

func keepHelplessly(c call) (*fsstate.Handoff, error) {
	q, err := c.open()
	if err != nil {
		return nil, err
	}
	host, err := process.NewHost()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _ = host.Run(context.Background()) }()
	j := &job{Keeper: &Keeper{
		Queue: q, Host: host, ID: c.ID, Stdout: os.Stdout, Stderr: os.Stderr,
		Say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, "keeper: "+format+"\n", args...) },
	}}
	if err := j.claim(ctx); err != nil {
		return nil, err
	}
	d, err := j.launch()
	if err != nil {
		return nil, err
	}
	j.recordHandler(ctx, d)
	<-d.child.Done()
	cancel()
	return j.conclude(ctx, d, "")
}

func TestHandoffStaysRunningWhileSomethingOfItsFailedCommandCannotBeEnded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.platform("chat", "leave", "all", "[", "note", "./log", "ignore", "15", "say", "child", "await", "never", "]", "await", "./go", "exit", "1")
	id := h.request("chat")
	c := h.call(id)
	c.Report = filepath.Join(t.TempDir(), "report")
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testBinary(t), "helpless")
	cmd.Env = append(cmd.Environ(), callVar+"="+string(data), "GORACE=atexit_sleep_ms=0")
	k := h.run(cmd, c.Report)
	child := h.said("child")
	h.touch("go")
	if r := k.wait(); r.State != queue.Running || !strings.Contains(r.Err, "lives on") {
		t.Errorf("keeper: %+v", r)
	}
	if gone(child) {
		t.Fatal("its child was ended: nothing was tested")
	}
	h.wantState(id, queue.Running)
	h.kept(id, queue.ReasonRunning) // nor does anybody else take it for ended
	if _, _, err := h.queue.Request(t.Context(), Request{Session: theSession, Platform: "own"}); err == nil {
		t.Error("its session can be handed over again")
	}
	h.killPID(child)
	h.takenBack(id)
	h.ran(1)
}
