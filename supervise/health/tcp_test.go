package health

import (
	"context"
	"net"
	"testing"
	"time"
)

// listen is a server that does with each connection what it is told to.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			go serve(c)
		}
	}()
	return l.Addr().String()
}

// refusing is an address on which nobody listens: a port below 1024 is given to nobody by chance.
const refusing = "127.0.0.1:1"

func TestAConnectionIsHealthy(t *testing.T) {
	t.Parallel()
	p := Probe{TCP: listen(t, func(net.Conn) {})}
	if err := p.Check(patient(t), time.Now(), time.Time{}); err != nil {
		t.Error(err)
	}
	if err := p.Await(patient(t), time.Now()); err != nil {
		t.Error(err)
	}
}

func TestARefusedConnectionSaysSo(t *testing.T) {
	t.Parallel()
	says(t, Probe{TCP: refusing}.Check(patient(t), time.Now(), time.Time{}), "connect 127.0.0.1:1: connection refused")
}

func TestAPortThatOpensLateIsReadyThen(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	opened := make(chan time.Time, 1)
	time.AfterFunc(100*time.Millisecond, func() {
		l, err := net.Listen("tcp", address)
		if err != nil { // somebody else was given the number meanwhile, which a connection would show as ready
			t.Error(err)
			return
		}
		opened <- time.Now()
		t.Cleanup(func() { l.Close() })
	})
	if err := (Probe{TCP: address}).Await(patient(t), time.Now()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-opened:
	case <-time.After(time.Second):
		t.Error("ready before anybody listened")
	}
}

func TestAConnectionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	says(t, Probe{TCP: listen(t, func(net.Conn) {})}.Check(ctx, time.Now(), time.Time{}), "operation was canceled")
}
