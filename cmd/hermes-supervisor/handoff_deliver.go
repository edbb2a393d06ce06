package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/policy/queue"
	"hermes-supervisor/supervise/handoff"
	"hermes-supervisor/supervise/process"
	"hermes-supervisor/supervise/turn"
)

// handoffDeliverCommand is the keeper of one delivery; run starts it.
func (a *app) handoffDeliverCommand() *cobra.Command {
	by := ""
	cmd := &cobra.Command{
		Use:   "deliver ID",
		Short: "Deliver one pending handoff now",
		Long: `Claims a pending handoff and delivers it: the platform's command of hermes.toml gets it as JSON on its stdin. How that
ended is on disk when this returns. stdout is the command's; the last line of stderr tells how it ended.`,
		Example: `  hermes-supervisor handoff deliver fix-tests`,
		Args:    oneHandoff,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.open()
			if err != nil {
				return err
			}
			defer r.Store.Close() //nolint:errcheck // a directory handle
			q, id := a.queueOf(r), args[0]
			if by != handoff.ByRun { // which gives the whole id, and the home that it is in
				h, in, err := a.findHandoff(r, id, false)
				if err != nil {
					return err
				}
				q, id = in, h.ID
			}
			return a.deliver(cmd, r, q, id, by)
		},
	}
	cmd.Flags().StringVar(&by, "by", "", "")
	_ = cmd.Flags().MarkHidden("by") // how run starts a keeper of its own
	return cmd
}

func (a *app) deliver(cmd *cobra.Command, r *room, q *handoff.Queue, id, by string) error {
	host, err := process.NewHost()
	if err != nil {
		return err
	}
	orders, stop := a.listenForDelivery()
	defer stop()
	k := &handoff.Keeper{
		Queue: q, Host: host, ID: id, By: by, Drain: time.Duration(r.config.Handoff.Drain),
		Stdout: a.stdout, Stderr: a.stderr, Orders: orders, Say: a.say, Agent: r.agent, Started: a.started,
	}
	h, err := k.Run(cmd.Context())
	if _, refused := errors.AsType[*handoff.RefusedError](err); refused && by == handoff.ByRun {
		a.code = exitBusy // another one was quicker: nothing that anybody has to read
		return nil
	}
	if err != nil {
		return err
	}
	if h.State == string(queue.Failed) {
		a.code = exitFailed
	}
	v, _ := q.View(h)
	if a.json {
		return a.jsonLine(map[string]any{"schema": schema, "type": "handoff", "handoff": handoffJSONOf(v)})
	}
	a.say("%s", standing(v))
	return nil
}

// listenForDelivery turns signals into the orders of a delivery's keeper until stop.
func (a *app) listenForDelivery() (orders <-chan handoff.Order, stop func()) {
	from, ignore := a.listen()
	out := make(chan handoff.Order, 8)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case o := <-from:
				if o == turn.OrderInterrupt {
					offer(out, handoff.OrderCancel)
				} else {
					offer(out, handoff.OrderDrain)
				}
			}
		}
	}()
	return out, func() { ignore(); close(done) }
}
