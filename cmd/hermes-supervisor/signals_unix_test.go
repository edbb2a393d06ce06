//go:build unix

package main

import (
	"os"
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
