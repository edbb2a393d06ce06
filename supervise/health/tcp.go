package health

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// attempt bounds one connection or one GET, as a whole.
const attempt = 5 * time.Second

// checkAddress refuses what is no "host:port".
func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil && (port == "" || port == "0") {
		err = errors.New("it names no port")
	}
	if in, ok := errors.AsType[*net.AddrError](err); ok {
		err = errors.New(in.Err)
	}
	if err != nil {
		return fmt.Errorf("%.80q is no host:port: %w", address, err)
	}
	return nil
}

// connect is nil where a connection to address is accepted. (A connection of a free port to itself, which Linux makes
// where both ends choose the same number, is seen and dropped by package net.)
func connect(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("connect %s: %w", address, reason(err))
	}
	_ = conn.Close()
	return nil
}

var errNoAnswer = errors.New("no answer in time")

// reason takes off an error of package net what the caller says itself: the operation and the address.
func reason(err error) error {
	var (
		errno syscall.Errno
		op    *net.OpError
	)
	switch {
	case errors.As(err, &errno):
		return errno
	case os.IsTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return errNoAnswer
	case errors.As(err, &op):
		return op.Err
	}
	return err
}
