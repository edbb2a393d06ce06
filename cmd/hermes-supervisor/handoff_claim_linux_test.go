package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
)

func TestClaimThatWaitsForAClaimerThatDiesEndsAndClaimsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "hermes.toml")
	if err := os.WriteFile(file, []byte("[handoff.platform.desk]\nexternal = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	a := &app{stdout: out, stderr: out, home: filepath.Join(dir, "home"), config: file}
	r, err := a.open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Store.Close()
	desk := exec.Command("sleep", "600")
	if err := desk.Start(); err != nil {
		t.Fatal(err)
	}
	claimer, err := ident.Of(desk.Process.Pid, ident.NewInstance())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.claimHandoff(t.Context(), r, "desk", claimer, 10*time.Minute) }()
	if err := desk.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = desk.Wait()
	select {
	case err = <-ended:
	case <-time.After(patience):
		t.Error("it waits on")
	}
	q := a.queueOf(r)
	h, _, rerr := q.Request(t.Context(), handoff.Request{Session: "late", Platform: "desk"})
	if rerr != nil {
		t.Fatal(rerr)
	}
	if t.Failed() { // what comes now would be lost on it
		<-ended
	}
	if err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("it ended with %v", err)
	}
	if h, err := q.Files.Get(h.ID); err != nil || h.State != string(queue.Pending) || h.Tries != 0 {
		t.Errorf("the handoff that came after its end is %+v, %v", h, err)
	}
	if text, err := os.ReadFile(out.Name()); err != nil || len(text) > 0 {
		t.Errorf("it printed %q, %v", text, err)
	}
}
