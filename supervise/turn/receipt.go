package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/fault"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy"
	"hermes-supervisor/supervise/process"
)

// receiptSchema is the "schema" of the JSON that a receipt command reads on its stdin.
const receiptSchema = 1

// runReceipt runs the receipt command once. It is an instance of its own, recorded before it starts, so that a keeper
// that comes after our death can tell a receipt that still runs: its witness stays as long as the marker names it, since
// nothing else proves that it has ended. A detail means that it failed and the marker must stay.
func (j *job) runReceipt(ctx context.Context) (detail string, err error) {
	if j.Request.Receipt == "" {
		return "the turn concluded, its receipt is due: give --receipt again, or drop it with `turn clear`", nil
	}
	stdin, err := json.Marshal(map[string]any{
		"schema": receiptSchema, "session": j.turn.Session, "code": j.turn.End.Code, "reason": j.turn.End.Reason,
		"attempts": j.turn.Attempts, "started_at": j.turn.StartedAt, "ended_at": j.turn.End.At, "request_id": j.turn.RequestID,
	})
	if err != nil {
		return "", err
	}
	instance := ident.NewInstance()
	witness, err := j.Room.Store.NewWitness(instance, append(stdin, '\n'))
	if err != nil {
		return "", err
	}
	defer witness.Close() //nolint:errcheck // read only; closed before the wait, this is for the ways out before it
	var child *process.Child
	err = j.update(ctx, "receipt", func(t *fsstate.Turn) error {
		t.Receipt = &fsstate.Receipt{Pending: true, Instance: instance, Failures: t.Receipt.Failures}
		if err := j.Room.files().Put(t); err != nil {
			return err
		}
		fault.At("receipt.start")
		child, err = j.Host.Start(process.Spec{
			Argv: shell(j.Request.Receipt), Dir: j.Request.Cwd, Stdin: witness, Stdout: j.Stderr, Stderr: j.Stderr,
			Env: process.ChildEnv(os.Environ(), map[string]string{
				homeVar: j.Room.Store.Home().Path, SessionVar: t.Session, AttemptVar: strconv.Itoa(t.Attempts),
				ident.InstanceVar: instance, "HERMES_SUPERVISOR_CODE": strconv.Itoa(t.End.Code),
			}),
		})
		return err
	})
	if errors.Is(err, errTaken) {
		return "", nil // someone cleared the turn by force; there is nothing left to acknowledge
	}
	if err != nil {
		return fmt.Sprintf("the receipt command cannot be started: %v", err), nil
	}
	_ = witness.Close()
	if err := child.Resume(); err != nil {
		return fmt.Sprintf("the receipt command cannot be started: %v", err), nil
	}
	exit := j.awaitReceipt(ctx, child)
	fault.At("receipt.ended")
	if exit.Code != 0 {
		err := j.update(ctx, "receipt", func(t *fsstate.Turn) error {
			t.Receipt = &fsstate.Receipt{Pending: true, Failures: t.Receipt.Failures + 1} // it is over: no instance to look for
			return j.put(t, "receipt-failed", policy.ReasonReceiptPending)
		})
		if err == nil {
			j.dropRunFiles(instance)
		}
		return fmt.Sprintf("the receipt command ended with %v; the turn stays concluded and only the receipt repeats", exit), err
	}
	return "", nil
}

// awaitReceipt waits for the receipt; an order of any kind ends it, and it will be repeated.
func (j *job) awaitReceipt(ctx context.Context, child *process.Child) process.Exit {
	tree := process.Tree{Leader: ident.Launched(child.PID(), ident.Ident{}), Sole: true}
	for {
		select {
		case <-child.Done():
			return child.Exit()
		case <-j.Orders:
			j.Say("ending the receipt command; it is due again")
			go func() { _ = tree.End(ctx, process.StopLadder(stopGrace)) }()
		}
	}
}
