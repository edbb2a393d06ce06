//go:build unix

package fsstate

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFIFOsInAHomeDoNotBlockItsResolution(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"active_profile", "profiles"} {
		fatal(t, syscall.Mkfifo(filepath.Join(root, name), 0o600))
	}
	getenv := func(key string) string {
		if key == "HERMES_HOME" {
			return root
		}
		return ""
	}
	inTime(t, func() {
		if _, err := ResolveHome("", getenv, ""); err == nil || !strings.Contains(err.Error(), "active_profile is a FIFO") {
			t.Errorf("ResolveHome: %v", err)
		}
		if _, err := Homes(Home{Path: root, Root: root}); err == nil || !strings.Contains(err.Error(), "is a FIFO") {
			t.Errorf("Homes: %v", err)
		}
	})
}
