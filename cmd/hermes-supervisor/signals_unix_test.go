//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/supervise"
)

// Whoever changes the file again and says so at once is heard: two reloads are no signal that came twice.
func TestTwoReloadsInARowAreTwo(t *testing.T) {
	log, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	orders, _, stop := (&app{stdout: log, stderr: log}).listenForRun(nil)
	defer stop()
	for i := range 3 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		select {
		case order := <-orders:
			if order != supervise.OrderReload {
				t.Errorf("signal %d: %v", i+1, order)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("signal %d was not heard", i+1)
		}
	}
}

// TestAStopIsHeardBehindReloads is a supervisor that is busy with something else meanwhile.
func TestAStopIsHeardBehindReloads(t *testing.T) {
	log, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	a := &app{stdout: log, stderr: log}
	orders, _, stop := a.listenForRun(nil)
	defer stop()
	signals := func(s syscall.Signal, n int) {
		for range n {
			seen := make(chan os.Signal, 1)
			signal.Notify(seen, s) // hears it after the other
			if err := syscall.Kill(os.Getpid(), s); err != nil {
				t.Fatal(err)
			}
			<-seen
			signal.Stop(seen)
		}
	}
	signals(syscall.SIGHUP, 2*cap(orders))
	signals(syscall.SIGTERM, 1)
	for {
		select {
		case order := <-orders:
			if order == supervise.OrderReload {
				continue
			}
			if order != supervise.OrderStop || !a.ordered.Load() {
				t.Errorf("%v", order)
			}
			return
		case <-time.After(10 * time.Second):
			t.Fatal("the stop was not heard")
		}
	}
}
