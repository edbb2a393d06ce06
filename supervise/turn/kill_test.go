//go:build linux

package turn

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
)

// What a person can kill by hand, in every order: continued once, or refused while something lives.

func TestLauncherKilledNeverYieldsASecondAgent(t *testing.T) {
	t.Parallel()
	for name, launcher := range map[string]func(h *home) []string{
		"sh -c": func(h *home) []string {
			agent := h.agent("read", "once", "./first", "await", "never")
			return append([]string{"/bin/sh", "-c", `"$@"; exit $?`, "sh"}, agent...)
		},
		"own session": func(h *home) []string {
			return h.program("launch", "[", "log", "./log", "read", "once", "./first", "await", "never", "]")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run("prompt")
			c.Request.Agent.Command = launcher(h)
			k := h.start(c)
			h.until("the agent has read its prompt", func() bool { return len(h.texts("prompt")) == 1 })
			h.launched()
			if owner := h.mustTurn().Owner.PID; owner == h.started(1) {
				t.Fatalf("the agent itself is the owner %d: no launcher between", owner)
			}
			h.killPID(h.mustTurn().Owner.PID)
			if o := k.want(Concluded, policy.ReasonSucceeded, 0); o.Attempts != 1 {
				t.Errorf("attempts %d", o.Attempts)
			}
			h.wantContinuation(h.texts("prompt")[1], "prompt")
			h.ran(2)
		})
	}
}

func TestLauncherAndKeeperKilled(t *testing.T) {
	t.Parallel()
	for name, keeperFirst := range map[string]bool{"launcher first": false, "keeper first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run("prompt")
			c.Request.Agent.Command = h.program("launch", "[", "log", "./log", "ignore", "15", "read", "once", "./first", "await", "never", "]")
			k := h.start(c)
			h.until("the agent has read its prompt", func() bool { return len(h.texts("prompt")) == 1 })
			h.launched()
			agent, launcher := h.started(1), h.mustTurn().Owner.PID
			if keeperFirst {
				k.kill()
				h.killPID(launcher)
			} else { // the agent ignores SIGTERM: the keeper dies while it waits for it to go
				h.killPID(launcher)
				k.kill()
			}
			before := h.state()
			h.start(c).want(Refused, policy.ReasonOwnerAlive, 0)
			h.unchanged(before)
			h.ran(1)
			h.killPID(agent)
			h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
			h.ran(2)
		})
	}
}

func TestKeeperKilledWhileTheAgentLives(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]string{
		"":                       nil,
		" and has closed stdin":  {"closestdin"},
		" and left it to a tool": {"setsid", "[", "await", "./go", "]"},
	} {
		t.Run("the agent lives"+name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := h.run("prompt", append(append([]string{"read"}, steps...), "once", "./first", "touch", "./here", "await", "never")...)
			k := h.start(c)
			h.until("the agent is at work", func() bool { return h.exists("here") })
			h.launched()
			k.kill()
			before := h.state()
			h.start(c).want(Refused, policy.ReasonOwnerAlive, 0)
			other := h.run("another prompt")
			h.start(other).want(Refused, policy.ReasonOwnerAlive, 0)
			h.unchanged(before)
			h.killPID(h.started(1))
			if len(steps) > 1 { // its tool carries the instance
				h.start(c).want(Refused, policy.ReasonOwnerAlive, 0)
				h.unchanged(before)
				h.touch("go")
				h.until("the tool is gone", func() bool {
					tagged, err := ident.ScanTagged()
					return err == nil && len(tagged[h.mustTurn().Owner.Instance]) == 0
				})
			}
			if o := h.start(c).want(Concluded, policy.ReasonSucceeded, 0); o.Attempts != 1 {
				t.Errorf("attempts %d", o.Attempts)
			}
			unobserved := policy.Note(policy.NoteFacts{Prompt: "prompt", Attempt: 1, Unobserved: true})
			if got := h.texts("prompt")[1]; got != unobserved {
				t.Errorf("the continuation was told %q, want %q", got, unobserved)
			}
			h.ran(2)
			h.noMarker()
		})
	}
}

func TestKeeperAndAgentKilledAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "read", "once", "./first", "await", "never")
	k := h.start(c)
	h.until("the agent has read its prompt", func() bool { return len(h.texts("prompt")) == 1 })
	// Both are told before either can see the other's end.
	k.signal(syscall.SIGSTOP)
	h.killPID(h.started(1))
	k.kill()
	h.start(h.run("", "read")).want(Concluded, policy.ReasonSucceeded, 0)
	h.wantContinuation(h.texts("prompt")[1], "prompt")
	h.ran(2)
}

func TestAgentFinishesAfterItsKeeperWasKilled(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "read", "once", "./first", "await", "./go", "print", "all", "print", `{"type":"result"}`, "exit", "0")
	c.Request.Agent.Events.End = resultLine
	k := h.start(c)
	h.until("the agent has read its prompt", func() bool { return len(h.texts("prompt")) == 1 })
	h.launched()
	k.kill()
	h.touch("go")
	h.awaitGone(h.started(1))
	again := h.start(c)
	if o := again.want(Concluded, policy.ReasonEndEvent, 0); !o.Replayed {
		t.Error("not said that nothing ran")
	}
	if got, want := again.stdout.String(), "all\n{\"type\":\"result\"}\n"; got != want {
		t.Errorf("the end that nobody saw printed %q, want %q", got, want)
	}
	h.noMarker()
	h.ran(1)
}

func TestEndFoundThoughTheKeeperDiedBeforeItRecordedThePID(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	m := h.interrupted("prompt", func(m *fsstate.Turn) {
		m.Phase = fsstate.PhaseIntended
		m.Owner = ident.Unlaunched(m.Owner, ident.NewInstance())
	})
	h.freeWitness(m.Owner.Instance)
	out, err := h.room.Store.NewOutput(m.Owner.Instance + ".out")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(out, `{"type":"result"}`)
	_ = out.Close()
	c := h.run("prompt", "read")
	c.Request.Agent.Events.End = resultLine
	h.start(c).want(Concluded, policy.ReasonEndEvent, 0)
	h.noMarker()
	h.ran(0)
}

// freeWitness makes the witness of an instance that has ended. A fork of a test beside this one holds every open file of this
// process until its exec.
func (h *home) freeWitness(instance string) {
	h.Helper()
	w, err := h.room.Store.NewWitness(instance, nil)
	if err != nil {
		h.Fatal(err)
	}
	_ = w.Close()
	h.until("nobody holds the witness", func() bool {
		return ident.ProbeWitness(h.room.Store.Path(fsstate.Run, instance+".in")) == ident.WitnessFree
	})
}

func TestStoppedKeeperHoldsItsTurn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "read", "once", "./first", "await", "never")
	k := h.start(c)
	h.until("the agent has read its prompt", func() bool { return len(h.texts("prompt")) == 1 })
	h.launched()
	k.signal(syscall.SIGSTOP)
	h.until("the keeper is stopped", func() bool { return ident.Stopped(h.mustTurn().Keeper) })
	h.killPID(h.started(1))
	before := h.state()
	h.start(c).want(Refused, policy.ReasonKeeperAlive, 0)
	h.start(h.run("another prompt")).want(Refused, policy.ReasonKeeperAlive, 0)
	h.unchanged(before)
	if _, err := h.room.Clear(t.Context(), theSession, false); !isBusy(err) {
		t.Errorf("clear: %v", err)
	}
	k.signal(syscall.SIGCONT)
	k.want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(2)
}

func isBusy(err error) bool {
	_, busy := errors.AsType[*BusyError](err)
	return busy
}

func TestKeeperKilledBetweenTheEndAndTheRemoval(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	concluded := func(m *fsstate.Turn) {
		m.Phase = fsstate.PhaseConcluded
		m.End = &fsstate.End{Code: 3, Reason: string(policy.ReasonHandledError), At: time.Now().UTC()}
	}
	for _, prompt := range []string{"prompt", ""} {
		m := h.interrupted("prompt", concluded)
		h.output(m.Owner.Instance, "the answer\n")
		k := h.start(h.run(prompt, "read"))
		if o := k.want(Concluded, policy.ReasonHandledError, 3); !o.Replayed {
			t.Error("not said that nothing ran")
		}
		if got := k.stdout.String(); got != "the answer\n" {
			t.Errorf("printed %q: the agent's answer is lost", got)
		}
		h.noMarker()
		h.ran(0)
	}
	// Another prompt waits behind it, whatever it is called.
	h.interrupted("prompt", concluded)
	c := h.run("another", "read")
	c.Request.ID = "job 8"
	h.start(c).want(Concluded, policy.ReasonSucceeded, 0)
	if got := h.texts("prompt"); len(got) != 1 || got[0] != "another" {
		t.Errorf("prompts %q", got)
	}
	if len(h.ended()) > 0 {
		t.Error("the concluded turn went to ended/")
	}
}

// output leaves what an agent printed.
func (h *home) output(instance, text string) {
	h.Helper()
	if err := os.WriteFile(h.room.Store.Path(fsstate.Run, instance+".out"), []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

func TestKeeperKilledWhileTheReceiptRuns(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.run("prompt", "exit", "3")
	c.Request.Receipt = fmt.Sprintf("echo once >>%q; until test -e %q; do sleep 0.02; done", h.file("receipts"), h.file("go"))
	k := h.start(c)
	h.until("the receipt runs", func() bool { return h.exists("receipts") })
	h.until("it is recorded", func() bool { return h.mustTurn().Receipt.Instance != "" })
	k.kill()
	h.start(c).want(Refused, policy.ReasonReceiptRunning, 0)
	h.start(h.run("another")).want(Refused, policy.ReasonReceiptRunning, 0)
	h.touch("go")
	h.until("the receipt has ended", func() bool {
		return h.room.look().witness(h.mustTurn().Receipt.Instance) == ident.WitnessFree
	})
	h.start(c).want(Concluded, policy.ReasonHandledError, 3)
	if got := h.read("receipts"); got != "once\nonce\n" {
		t.Errorf("receipts %q", got)
	}
	h.noMarker()
	h.ran(1)
}

func TestCrashLeavesNoToolBesideTheContinuation(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"spawn", "setsid", "daemon"} {
		for name, tool := range map[string][]string{
			how:                       {"hold", "./tool", "touch", "./ready", "await", "never"},
			how + ", ignores SIGTERM": {"ignore", "15", "hold", "./tool", "touch", "./ready", "await", "never"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h := newHome(t)
				steps := append([]string{"read", "once", "./first", how, "["}, tool...)
				steps = append(steps, "]", "await", "./ready", "kill", "9", "else", "hold", "./tool")
				k := h.start(h.run("prompt", steps...))
				k.want(Concluded, policy.ReasonSucceeded, 0)
				h.ran(2)
			})
		}
	}
}

func TestConcludedTurnEndsWhatItsAgentLeft(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.start(h.run("prompt", "daemon", "[", "log", "./tool", "touch", "./ready", "await", "never", "]", "await", "./ready", "exit", "3")).
		want(Concluded, policy.ReasonHandledError, 3)
	h.noMarker()
	h.start(h.run("prompt", "hold", "./tool.lock")).want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(2)
}

func TestAnotherBootIsSettledByTheWitness(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	elsewhere := func(m *fsstate.Turn) { m.Owner.BootID, m.Keeper.BootID = "another boot", "another boot" }
	h.interrupted("prompt", elsewhere)
	h.start(h.run("", "read")).want(Refused, policy.ReasonKeeperUnknown, 0)
	m := h.mustTurn()
	h.freeWitness(m.Owner.Instance)
	h.freeWitness(m.Keeper.Instance)
	h.start(h.run("", "read")).want(Concluded, policy.ReasonSucceeded, 0)
	h.ran(1)
}
