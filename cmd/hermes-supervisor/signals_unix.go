//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"

	"hermes-supervisor/supervise/turn"
)

// signalOrders is what each signal means to a keeper. SIGPIPE means nothing, but is caught: a closed stdout must not end
// the keeper.
var signalOrders = map[os.Signal]turn.Order{
	unix.SIGINT: turn.OrderInterrupt, unix.SIGTERM: turn.OrderDrain, unix.SIGHUP: turn.OrderDrain, unix.SIGPIPE: 0,
}
