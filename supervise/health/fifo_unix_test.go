//go:build unix

package health

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestAFIFOIsLookedAtAndNotOpened(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	started := time.Now()
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Probe{{File: fifo}, {Heartbeat: fifo, MaxAge: time.Hour}} {
		done := make(chan error, 2)
		go func() {
			done <- p.Await(patient(t), started)
			done <- p.Check(patient(t), started, time.Time{})
		}()
		for range 2 {
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Fatal("the FIFO was opened")
			}
		}
	}
}
