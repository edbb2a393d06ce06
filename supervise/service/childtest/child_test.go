//go:build unix

package childtest

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		os.Exit(Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// patience bounds every wait.
const patience = 20 * time.Second

// start starts a child, which is killed with its group when the test ends.
func start(t *testing.T, words ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"child"}, words...)...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = patience
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	return cmd, &out
}

// run returns what a child printed, and how it ended.
func run(t *testing.T, words ...string) (string, *os.ProcessState) {
	t.Helper()
	cmd, out := start(t, words...)
	_ = cmd.Wait()
	return out.String(), cmd.ProcessState
}

// appears waits until a file holds something.
func appears(t *testing.T, file string) string {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if data, err := os.ReadFile(file); err == nil && len(data) > 0 {
			return string(data)
		}
	}
	t.Fatalf("%s did not appear", file)
	return ""
}

func TestScripts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		script, out string
		code        int
	}{
		{"", "", 0},
		{"say a warn b exit 3", "a\nb\n", 3},
		{"number-err /dev/null 0 x", "child: number-err: time: invalid duration \"x\"\n", 96},
		{"flood 40", "0123456789abcde\n0123456789abcde\n01234567", 0},
		{"close-stdin say x", "x\n", 0},
		{"sleep 1ms ignore HUP say x", "x\n", 0},
		{"fork { say forked } sleep 1ms", "forked\n", 0},
		{"fork say forked", "forked\n", 0},
		{"setsid { say own }", "own\n", 0},
		{"double-fork { fork { say far } } say x", "", 0}, // in any order
		{"dance", "child: dance: no such word\n", 96},
		{"say", "child: say: too few words\n", 96},
		{"exit", "child: exit: too few words\n", 96},
		{"number /x y 1s", "child: number: strconv.Atoi: parsing \"y\": invalid syntax\n", 96},
		{"ignore FOO", "child: ignore: no signal \"FOO\"\n", 96},
		{"sleep long", "child: sleep: time: invalid duration \"long\"\n", 96},
		{"fork { say x", "child: fork: no } for the { in \"{ say x\"\n", 96},
	} {
		t.Run(tc.script, func(t *testing.T) {
			t.Parallel()
			out, state := run(t, strings.Fields(tc.script)...)
			if state.ExitCode() != tc.code || tc.out != "" && out != tc.out {
				t.Errorf("%q, exit code %d", out, state.ExitCode())
			}
			if tc.out == "" && strings.Contains(tc.script, "far") && (!strings.Contains(out, "far\n") || !strings.Contains(out, "x\n")) {
				t.Errorf("%q", out)
			}
		})
	}
}

func TestNumbersGoOnOverRestarts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "count")
	for first := 1; first < 10; first += 3 {
		cmd, out := start(t, "number", file, "3", "0s")
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		pid := cmd.Process.Pid
		want := fmt.Sprintf("line %d %d\nline %d %d\nline %d %d\n", first, pid, first+1, pid, first+2, pid)
		if out.String() != want {
			t.Errorf("%q, want %q", out, want)
		}
	}
}

func TestARecordHasItsEndAndDiesOfTERM(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "record")
	cmd, _ := start(t, "record", file, "hold")
	appears(t, file)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	want := regexp.MustCompile(fmt.Sprintf(`^start %d [0-9]+\nend %[1]d [0-9]+\n$`, cmd.Process.Pid))
	if text := appears(t, file); !want.MatchString(text) {
		t.Errorf("%q", text)
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGTERM {
		t.Error(cmd.ProcessState)
	}
}

func TestNumberedLinesArePaddedAndTold(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "count")
	cmd, out := start(t, "pad", "3", "number", file, "1", "0s", "pad", "0", "number-err", file, "1", "0s")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if want := fmt.Sprintf("line 1 %d ...\nline 2 %[1]d\n", pid); out.String() != want || Line(1, pid, Padding(3))+"\n"+Line(2, pid, Padding(0))+"\n" != want {
		t.Errorf("%q, want %q", out, want)
	}
}

func TestWhoIsNotAloneSaysSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, up := filepath.Join(dir, "alone"), filepath.Join(dir, "up")
	first, _ := start(t, "alone", file, "setsid", "{", "record", up, "hold", "}", "hold")
	var tool int
	if _, err := fmt.Sscanf(appears(t, up), "start %d", &tool); err != nil {
		t.Fatal(err)
	}
	second, _ := run(t, "alone", file)
	_ = first.Process.Kill()
	_, _ = first.Process.Wait()
	left, _ := start(t, "alone", file) // what the first one started holds it still
	_ = left.Wait()
	_ = syscall.Kill(tool, syscall.SIGKILL)
	_ = first.Wait() // its output ends with the tool
	if second != "" {
		t.Error(second)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(fmt.Sprintf(`^start %d [0-9]+\noverlap [0-9]+ [0-9]+\noverlap %d [0-9]+\n$`, first.Process.Pid, left.Process.Pid))
	if !want.Match(text) {
		t.Errorf("%q", text)
	}
}

func TestAChildAnswersAtTheAddressThatItNames(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "address")
	start(t, "listen", file, "hold")
	response, err := http.Get("http://" + appears(t, file))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Error(response.Status)
	}
}

func TestAChildStopsItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, _ := start(t, "ignore", "TERM", "stop-self", "touch", filepath.Join(dir, "touched"), "exit", "7")
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &ws, syscall.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatalf("not stopped: %v %v", ws, err)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Process.Signal(syscall.SIGCONT)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(filepath.Join(dir, "touched")); err != nil {
		t.Error(err)
	}
}
