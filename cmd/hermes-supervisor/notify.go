package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// notifyPatience is how long a message to the service manager may take. A manager that hangs, or whose socket is full,
// must not stop the supervision; the next message tells it the newest state anyway.
const notifyPatience = 100 * time.Millisecond

const maxStatus = 1000

// notifier tells the service manager that started this process how it fares, by sd_notify(3). A nil one, where no
// manager asks for it, does nothing. A message that cannot be delivered is dropped, since a manager that waits for it
// notices that itself, and the socket is tried again at the next one. It may be used from several goroutines.
//
// Children must not inherit the manager's variables, or they would speak in our name: see process.ChildEnv.
type notifier struct {
	address  string // of a unixgram socket; "@name" is an abstract one
	interval time.Duration
	started  atomic.Bool // ready has been said
}

// newNotifier reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. It returns nil where there is no socket, or one of a
// kind that is not spoken here (vsock, to the host of a virtual machine).
func newNotifier(getenv func(string) string) *notifier {
	address := getenv("NOTIFY_SOCKET")
	usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	pid := getenv("WATCHDOG_PID")
	if len(address) < 2 || (address[0] != '/' && address[0] != '@') {
		return nil
	}
	n := &notifier{address: address}
	if err == nil && usec > 0 && usec < math.MaxInt64/1000 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.interval = time.Duration(usec) * time.Microsecond / 2
	}
	return n
}

// watchdog is how often alive is to be called: half of what the manager waits. 0: it does not wait for it.
func (n *notifier) watchdog() time.Duration {
	if n == nil {
		return 0
	}
	return n.interval
}

// ready says that the start, or a reload, is done.
func (n *notifier) ready() {
	if n != nil {
		n.started.Store(true)
	}
	_ = n.send("READY=1")
}

// status says one line for people. A longer one is cut at 1,000 bytes: systemd drops a message above 4,096 as a whole.
func (n *notifier) status(text string) {
	text = strings.Join(strings.Fields(text), " ") // a line end would begin another message
	_ = n.send("STATUS=" + strings.ToValidUTF8(text[:min(len(text), maxStatus)], ""))
}

// stopping says that an ordered stop has begun, which may take so long: a manager that was told of a shorter time, as by a
// unit that is older than the configuration, waits that long from now on; one that waits longer anyway still does.
func (n *notifier) stopping(budget time.Duration) {
	_ = n.send("STOPPING=1\nEXTEND_TIMEOUT_USEC=" + strconv.FormatInt(budget.Microseconds(), 10))
}

// startStep is how long the next step of a start may take: the opening of one home, with its disk.
const startStep = 60 * time.Second

// alive is the sign of life that the watchdog waits for. Before ready there is no watchdog, but a deadline for the start,
// which a step that was done moves on.
func (n *notifier) alive() {
	message := "WATCHDOG=1"
	if n != nil && !n.started.Load() {
		message += "\nEXTEND_TIMEOUT_USEC=" + strconv.FormatInt(startStep.Microseconds(), 10)
	}
	_ = n.send(message)
}

// reloading says that the configuration is being read again, until ready. The time lets the manager tell this reload
// from one that it asks for later.
func (n *notifier) reloading() {
	message := "RELOADING=1"
	if usec := monotonicUsec(); usec > 0 {
		message += "\nMONOTONIC_USEC=" + strconv.FormatInt(usec, 10)
	}
	_ = n.send(message)
}

// send opens the socket for each message, since the manager may make a new one when it is itself started anew.
func (n *notifier) send(message string) error {
	if n == nil {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: n.address})
	if err == nil {
		if err = conn.SetWriteDeadline(time.Now().Add(notifyPatience)); err == nil {
			_, err = conn.Write([]byte(message))
		}
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}
