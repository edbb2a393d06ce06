package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"hermes-supervisor/supervise/process"
)

// managerSocket is a service manager's socket.
func managerSocket(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no unixgram sockets")
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// heard is the next message to a manager.
func heard(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	buf := make([]byte, 8<<10)
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

// env is a getenv of NAME=VALUE pairs.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, kv := range pairs {
			if v, found := strings.CutPrefix(kv, name+"="); found {
				return v
			}
		}
		return ""
	}
}

func TestTheManagerHearsEachState(t *testing.T) {
	t.Parallel()
	names := map[string]string{"path": filepath.Join(t.TempDir(), "notify")}
	if runtime.GOOS == "linux" {
		names["abstract"] = fmt.Sprintf("@hermes-supervisor-test-%d", os.Getpid())
	}
	for kind, name := range names {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			conn := managerSocket(t, name)
			n := newNotifier(env("NOTIFY_SOCKET=" + name))
			long := strings.Repeat("ö", 3000)
			for _, tc := range []struct {
				send func()
				want string
			}{
				{n.alive, "WATCHDOG=1\nEXTEND_TIMEOUT_USEC=60000000"}, // the start goes on
				{n.ready, "READY=1"},
				{func() { n.status("two\nlines\r\nREADY=1") }, "STATUS=two lines READY=1"},
				{func() { n.stopping(90 * time.Second) }, "STOPPING=1\nEXTEND_TIMEOUT_USEC=90000000"},
				{n.alive, "WATCHDOG=1"},
				{func() { n.status(long) }, "STATUS=" + long[:maxStatus]},
				{func() { n.status("x" + long) }, "STATUS=x" + long[:maxStatus-2]}, // no half a letter
				{func() { n.status("") }, "STATUS="},                               // says nothing any more
			} {
				tc.send()
				if got := heard(t, conn); got != tc.want || !utf8.ValidString(got) {
					t.Errorf("got %q, want %q", got, tc.want)
				}
			}
		})
	}
}

func TestAReloadBearsItsTime(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "notify")
	conn := managerSocket(t, name)
	before := monotonicUsec()
	newNotifier(env("NOTIFY_SOCKET=" + name)).reloading()
	got := heard(t, conn)
	if runtime.GOOS != "linux" {
		if got != "RELOADING=1" {
			t.Errorf("got %q", got)
		}
		return
	}
	digits, found := strings.CutPrefix(got, "RELOADING=1\nMONOTONIC_USEC=")
	at, err := strconv.ParseInt(digits, 10, 64)
	if !found || err != nil || at < before || at > monotonicUsec() || before <= 0 {
		t.Errorf("got %q, want a time from %d on", got, before)
	}
}

func TestWithoutASocketNothingIsSaid(t *testing.T) {
	t.Parallel()
	for _, socket := range []string{"", "/", "@", "vsock:2:1234", "relative"} {
		n := newNotifier(env("NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=1000000"))
		if n != nil || n.watchdog() != 0 {
			t.Errorf("%q is taken for a socket", socket)
		}
		for _, say := range []func(){n.ready, func() { n.stopping(0) }, n.reloading, n.alive, func() { n.status("x") }} {
			say() // no effect on nil
		}
	}
}

func TestTheWatchdogIsFedInHalfItsTime(t *testing.T) {
	t.Parallel()
	self := strconv.Itoa(os.Getpid())
	for _, tc := range []struct {
		usec, pid string
		want      time.Duration
	}{
		{"30000000", self, 15 * time.Second},
		{"30000000", "", 15 * time.Second},
		{"30000000", "1", 0}, // meant for another process
		{"30000000", self + "0", 0},
		{"", self, 0},
		{"0", self, 0},
		{"-1", self, 0},
		{"soon", self, 0},
		{"9223372036854775807", self, 0},
	} {
		n := newNotifier(env("NOTIFY_SOCKET=/run/x", "WATCHDOG_USEC="+tc.usec, "WATCHDOG_PID="+tc.pid))
		if got := n.watchdog(); got != tc.want {
			t.Errorf("WATCHDOG_USEC=%s WATCHDOG_PID=%s: every %s, want %s", tc.usec, tc.pid, got, tc.want)
		}
	}
}

func TestAManagerThatDoesNotListenNeverBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full, dead := filepath.Join(dir, "full"), filepath.Join(dir, "dead")
	conn := managerSocket(t, full)
	began := time.Now()
	n, err := newNotifier(env("NOTIFY_SOCKET="+full)), error(nil)
	for i := 0; err == nil && i < 100_000; i++ {
		err = n.send("WATCHDOG=1")
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a full socket: %v", err)
	}
	n.alive()
	if got := heard(t, conn); got != "WATCHDOG=1" {
		t.Errorf("got %q", got)
	}
	if err := n.send("STOPPING=1"); err != nil { // there is room again
		t.Error(err)
	}
	managerSocket(t, dead).Close()
	for _, name := range []string{dead, filepath.Join(dir, "missing"), "/" + strings.Repeat("x", 200)} {
		n := newNotifier(env("NOTIFY_SOCKET=" + name))
		var refused error
		if err := within(patience, func() (bool, error) { // what a test beside this one forks has the socket open until its exec
			refused = n.send("READY=1")
			return refused != nil, nil
		}); err != nil || !strings.HasPrefix(refused.Error(), "notify the service manager: ") {
			t.Errorf("%.20s: %v", name, errors.Join(err, refused))
		}
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("it took %s", took)
	}
}

// What the notifier reads is meant for this process alone.
func TestChildrenDoNotInheritTheManagersVariables(t *testing.T) {
	t.Parallel()
	var read []string
	newNotifier(func(name string) string {
		read = append(read, name)
		return "/1" // a socket, so that the others are read as well
	})
	if len(read) != 3 {
		t.Fatalf("the notifier reads %q", read)
	}
	base := []string{"A=b"}
	for _, name := range read {
		base = append(base, name+"=x")
	}
	if got := process.ChildEnv(base, nil); len(got) != 1 || got[0] != "A=b" {
		t.Errorf("a child inherits %q", got)
	}
}

// TestAStartAndAStopSayHowLongTheyMayTake: before READY each opened home moves the deadline of the start, and the stop asks
// for what the configuration may take.
func TestAStartAndAStopSayHowLongTheyMayTake(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "hs-notify-") //nolint:usetesting // that folder's path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	conn := managerSocket(t, filepath.Join(dir, "notify"))
	for _, name := range []string{"home/profiles/a", "home/profiles/b"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(dir, "hermes.toml")
	if err := os.WriteFile(config, []byte("[agent.worker]\ncommand = [\"/bin/cat\"]\n[[service]]\nname = \"later\"\ncommand = [\"/bin/cat\"]\nautostart = false\nstop_timeout = \"5m\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("hermes-supervisor", "--home", filepath.Join(dir, "home"), "--config", config, "run")
	run.Env = append(os.Environ(), "NOTIFY_SOCKET="+filepath.Join(dir, "notify"), "WATCHDOG_USEC=100000", "GORACE=atexit_sleep_ms=0")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer run.Wait()
	defer run.Process.Kill()
	said := func(message string) (before []string) {
		for {
			got := heard(t, conn)
			if got == message {
				return before
			}
			before = append(before, got)
		}
	}
	const step = "WATCHDOG=1\nEXTEND_TIMEOUT_USEC=60000000"
	before := said("READY=1")
	if n := len(slices.DeleteFunc(before, func(m string) bool { return m != step })); n < 3 {
		t.Errorf("%d homes were told of before READY, want 3", n)
	}
	said("WATCHDOG=1") // and no more extensions from then on
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	said("STOPPING=1\nEXTEND_TIMEOUT_USEC=319000000")
}
