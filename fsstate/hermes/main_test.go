package hermes

import (
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// childVar makes the test binary a child that lives until its stdin ends, or, as "hammer", a Hermes that writes.
const childVar = "HERMES_SUPERVISOR_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childVar) {
	case "":
	case "hammer":
		os.Exit(hammer(os.Args[1]))
	default:
		_, _ = io.WriteString(os.Stdout, "ready\n")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is a real process under the given argv and environment. end kills and
// reaps it.
type child struct {
	pid int
	end func()
}

func startChild(t *testing.T, argv []string, env ...string) child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	if len(argv) > 0 {
		cmd.Args = argv
	}
	cmd.Env = append(os.Environ(), env...)
	cmd.Env = append(cmd.Env, childVar+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = stdin.Close()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(end)
	// After exec the command line and the environment are the child's own.
	if _, err := io.ReadFull(stdout, make([]byte, len("ready\n"))); err != nil {
		t.Fatal("child did not start:", err)
	}
	return child{pid: cmd.Process.Pid, end: end}
}

func selfCreated() (float64, error) {
	ms, err := (&process.Process{Pid: int32(os.Getpid())}).CreateTime()
	return float64(ms) / 1000, err
}

// created is the create time that Hermes would have recorded for the process.
func created(t *testing.T, pid int) float64 {
	t.Helper()
	p := &process.Process{Pid: int32(pid)}
	ms, err := p.CreateTime()
	if err != nil {
		t.Fatal(err)
	}
	return float64(ms) / 1000
}

var testNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// ago is a start d before testNow, as the file has it.
func ago(d time.Duration) float64 { return epoch(testNow.Add(-d)) }

// homeWith is a home whose marker file has the given text.
func homeWith(t *testing.T, text string) string {
	t.Helper()
	home := t.TempDir()
	writeAt(t, MarkersPath(home), text)
	return home
}
