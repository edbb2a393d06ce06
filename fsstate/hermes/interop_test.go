package hermes

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hermes-supervisor/fsstate/ident"
)

// pythonHermes is what Hermes does with its marker file, in its own language: it writes by temp, fsync and os.replace,
// and names itself by psutil's create time, or by the formula that psutil has for Linux.
const pythonHermes = `
import json, os, sys, time

def created():
    if how == "psutil":
        import psutil
        return psutil.Process().create_time()
    with open("/proc/self/stat", "rb") as f:
        ticks = int(f.read().rsplit(b")", 1)[1].split()[19])
    with open("/proc/stat", "rb") as f:
        boot = [float(l.split()[1]) for l in f if l.startswith(b"btime")][0]
    return boot + ticks / os.sysconf("SC_CLK_TCK")

def store(text, sync=True):
    tmp = "%s.%d.tmp" % (path, os.getpid())
    with open(tmp, "w", encoding="utf-8") as f:
        f.write(text)
        if sync:
            f.flush()
            os.fsync(f.fileno())
    os.replace(tmp, path)

def entry(prompt, started, **more):
    return {"attempts": 0, "prompt": prompt, "started_at": started, "auto_continue": True,
            "writer_pid": os.getpid(), "writer_start_time": start, **more}

what, how, path = sys.argv[1:4]
os.makedirs(os.path.dirname(path), exist_ok=True)
start = created()
now = time.time()
if what == "write":
    entries = {
        "agent:main:telegram:dm:42": entry("grüße 😀 \u2028 \x00 </script> \ud83d", now - 60.1),
        "cut": entry("mine", now - 30.25),
        "日本語 \\ \"": entry("x" * 64000, now - 0.1, attempts=2, auto_continue=False),
    }
    store(json.dumps(entries))
    with open(path + ".texts", "w", encoding="utf-8") as f:
        json.dump([json.dumps(k) + ": " + json.dumps(v) for k, v in entries.items() if k != "cut"], f)
    print("ready", repr(start), flush=True)
    sys.stdin.read()
else:
    last, n = None, 0
    while True:
        if last is not None:
            with open(path, encoding="utf-8") as f:
                if f.read() != last:
                    print("someone else wrote", flush=True)
                    sys.exit(3)
        last = json.dumps({"cut %d" % i: entry("p", now - 3600 + i + 10 * (n // 100)) for i in range(3)})
        store(last, sync=False)
        if n == 0:
            print("ready", repr(start), flush=True)
        n += 1
`

// pythonStrict is a newer Hermes: one key that it does not know, or one value of another type, and it rejects the whole
// file. It also looks for the texts that must still be there byte for byte.
const pythonStrict = `
import json, sys
known = {"prompt": str, "started_at": float, "attempts": int, "auto_continue": bool, "writer_pid": int, "writer_start_time": float}
needed = {"prompt", "started_at", "attempts", "auto_continue"}
path, texts = sys.argv[1:3]
with open(path, encoding="utf-8") as f:
    text = f.read()
entries = json.loads(text, parse_constant=lambda c: sys.exit("constant " + c))
assert type(entries) is dict
for session, e in entries.items():
    assert type(e) is dict and needed <= set(e) <= set(known), (session, sorted(e))
    for key, value in e.items():
        ok = type(value) is known[key] or known[key] is float and type(value) is int
        assert ok, (session, key, value)
    assert len(e["prompt"]) <= 64000 and e["prompt"].strip() and e["attempts"] >= 0 and e["started_at"] > 0, session
if texts:
    with open(texts, encoding="utf-8") as f:
        for t in json.load(f):
            assert t in text, ("changed or lost", t[:200])
`

func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed:", err)
	}
	return path
}

// strictlyRead tells what a strict Hermes says of a file: "" when it is content.
func strictlyRead(t *testing.T, path, texts string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), python(t), "-c", pythonStrict, path, texts).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v: %s", err, out)
	}
	return ""
}

// writer is a Hermes process that has written the marker file.
type writer struct {
	pid   int
	start string
	kill  func() (said string)
	ended chan struct{} // closed when it ended, killed or not
}

func startWriter(t *testing.T, cmd *exec.Cmd) *writer {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
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
	out := bufio.NewReader(stdout)
	line, err := out.ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		if strings.Contains(stderr.String(), "No module named 'psutil'") {
			t.Skip("psutil is not installed for python3")
		}
		t.Fatalf("the writer did not start: %v\n%s", err, stderr.String())
	}
	w := &writer{pid: cmd.Process.Pid, ended: make(chan struct{})}
	_, w.start, _ = strings.Cut(strings.TrimSpace(line), " ")
	var rest []byte
	go func() {
		rest, _ = io.ReadAll(out)
		_ = cmd.Wait()
		close(w.ended)
	}()
	w.kill = func() string {
		_ = cmd.Process.Kill()
		_ = stdin.Close()
		<-w.ended
		return string(rest)
	}
	t.Cleanup(func() { w.kill() })
	return w
}

func startPython(t *testing.T, what, how, home string) *writer {
	t.Helper()
	if runtime.GOOS != "linux" && how != "psutil" {
		t.Skip("without psutil the start of a process is read from /proc")
	}
	return startWriter(t, exec.CommandContext(t.Context(), python(t), "-c", pythonHermes, what, how, MarkersPath(home)))
}

func TestPythonsEntriesAreJudgedByPsutilsCreateTimeAndSurviveByteForByte(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"proc", "psutil"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			path := MarkersPath(home)
			w := startPython(t, "write", how, home)
			if said := strictlyRead(t, path, path+".texts"); said != "" {
				t.Fatal("Python does not read its own file:", said)
			}
			cut := markerOf(t, home, "cut")
			// UNKNOWN is right where the boot second is read near its end; it acts as alive.
			if v, why := Writer(cut); cut.WriterPID != w.pid || v == ident.Dead {
				t.Errorf("pid %d started at %s: %v, %s", w.pid, w.start, v, why)
			} else if v != ident.Alive {
				t.Logf("pid %d started at %s: %v, %s", w.pid, w.start, v, why)
			}
			if pid, live, err := LiveProcess(home); pid != w.pid || !live || err != nil {
				t.Errorf("live: %d, %v, %v", pid, live, err)
			}
			w.kill()
			if v, why := Writer(cut); v != ident.Dead {
				t.Errorf("killed: %v, %s", v, why)
			}
			if pid, live, err := quiet(home); live || err != nil {
				t.Errorf("killed: %d, %v, %v", pid, live, err)
			}
			rewritten := Marker{Session: "cut", Prompt: "again é \x00 </x>", StartedAt: cut.StartedAt, Attempts: 1, AutoContinue: true, HasWriter: true, WriterPID: os.Getpid(), WriterStart: 1764500000}
			if err := RecordMarker(home, rewritten, time.Now()); err != nil {
				t.Fatal(err)
			}
			if said := strictlyRead(t, path, path+".texts"); said != "" {
				t.Error("after a record:", said)
			}
			if err := ClearMarker(home, "cut", cut.StartedAt, time.Now()); err != nil {
				t.Fatal(err)
			}
			if said := strictlyRead(t, path, path+".texts"); said != "" {
				t.Error("after a clear:", said)
			}
		})
	}
}

func TestTheStrictReaderRejectsWhatHermesRejects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"unknown key": `{"s": {"prompt": "p", "started_at": 1.5, "attempts": 0, "auto_continue": true, "turn_id": 1}}`,
		"wrong type":  `{"s": {"prompt": "p", "started_at": 1.5, "attempts": 0.0, "auto_continue": true}}`,
		"missing key": `{"s": {"prompt": "p", "started_at": 1.5, "attempts": 0}}`,
	} {
		path := filepath.Join(dir, name)
		writeAt(t, path, text)
		if strictlyRead(t, path, "") == "" {
			t.Errorf("%s: read", name)
		}
	}
}

func markerOf(t *testing.T, home, session string) Marker {
	t.Helper()
	for _, m := range mustRead(t, home) {
		if m.Session == session {
			return m
		}
	}
	t.Fatalf("no marker of %q", session)
	return Marker{}
}

// The two readings of a create time that Hermes and we use must not be far apart on the machine that runs the tests,
// else nothing above proves much.
func TestOurReadingOfACreateTimeIsNearPsutils(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	w := startPython(t, "write", "psutil", home)
	apart := math.Abs(created(t, w.pid) - markerOf(t, home, "cut").WriterStart)
	if apart > clockDrift {
		t.Errorf("%.3f s apart", apart)
	}
}
