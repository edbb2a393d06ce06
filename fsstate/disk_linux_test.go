package fsstate

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// The models of the power-loss tests stand in for the disk; these show that the real one asks the kernel. /proc knows no
// fsync(2), so a sync that is really made there fails with EINVAL.

func TestSyncOfAFileReachesTheKernel(t *testing.T) {
	t.Parallel()
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := (rootDisk{}).Sync(f); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("sync of a file of /proc: %v, want EINVAL: nobody asked the kernel", err)
	}
}

func TestSyncOfAFolderReachesTheKernel(t *testing.T) {
	t.Parallel()
	d, err := openDisk("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.SyncDir("fs"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("sync of a folder of /proc: %v, want EINVAL: nobody asked the kernel", err)
	}
}
