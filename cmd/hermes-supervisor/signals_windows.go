package main

import (
	"os"
	"syscall"

	"hermes-supervisor/supervise/turn"
)

// signalOrders is what each console event means to a keeper. Go delivers Ctrl-C and Ctrl-Break as os.Interrupt, and the
// closing of the console, a logoff and a shutdown as SIGTERM.
var signalOrders = map[os.Signal]turn.Order{
	os.Interrupt: turn.OrderInterrupt, syscall.SIGTERM: turn.OrderDrain,
}
