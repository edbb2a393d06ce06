package process

import (
	"slices"
	"testing"
)

func TestChildEnvDropsWhatTheServiceManagerSaidToUs(t *testing.T) {
	t.Parallel()
	base := []string{
		"PATH=/bin", "NOTIFY_SOCKET=/run/x", "WATCHDOG_PID=1", "WATCHDOG_USEC=1", "LISTEN_PID=1", "LISTEN_FDS=1",
		"LISTEN_FDNAMES=a", "MAINPID=1", "INVOCATION_ID=1", "JOURNAL_STREAM=1:2", "MANAGERPID=1",
		"NOTIFY_SOCKET_DIR=/kept", "A=old", "B=1", "A=older", "EMPTY=", "odd", "=C:=C:\\x",
	}
	got := ChildEnv(base, map[string]string{"Z": "9", "A": "new", "MAINPID": "7"})
	want := []string{"PATH=/bin", "NOTIFY_SOCKET_DIR=/kept", "B=1", "EMPTY=", "odd", "=C:=C:\\x", "A=new", "MAINPID=7", "Z=9"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
