package output

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes-supervisor/fsstate"
)

// programVar names the program that the re-executed test binary plays.
const programVar = "OUTPUT_TEST_PROGRAM"

// programs get the arguments of the command line and return the exit code.
var programs = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	if name := os.Getenv(programVar); name != "" {
		os.Exit(programs[name](os.Args[1:]))
	}
	os.Exit(m.Run())
}

const service = "api"

func newStore(tb testing.TB) *fsstate.Store {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "home")
	if err := os.Mkdir(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	return openStore(tb, dir)
}

func openStore(tb testing.TB, dir string) *fsstate.Store {
	tb.Helper()
	store, err := fsstate.Open(fsstate.Home{Path: dir, Root: dir}, fsstate.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close() })
	return store
}

// world is a service's output with its child's end of it.
type world struct {
	t   testing.TB
	log *Log
	dir string
	f   [2]*os.File
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return makeWorld(t)
}

func benchWorld(b *testing.B) *world {
	b.Helper()
	return makeWorld(b)
}

func makeWorld(tb testing.TB) *world {
	tb.Helper()
	store := newStore(tb)
	w := &world{t: tb, log: must(Open(store, service)), dir: store.Path(fsstate.Log, service)}
	w.log.segment = 100
	w.launch()
	return w
}

// launch gives the child its files, as a start of the service does.
func (w *world) launch() {
	w.t.Helper()
	stdout, stderr, err := w.log.Files()
	if err != nil {
		w.t.Fatal(err)
	}
	w.f = [2]*os.File{stdout, stderr}
	w.t.Cleanup(func() { stdout.Close(); stderr.Close() })
}

func (w *world) write(s Stream, text string) {
	w.t.Helper()
	if _, err := w.f[slices.Index(streams[:], s)].WriteString(text); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) sweep(bound int64) {
	w.t.Helper()
	if _, err := w.log.Sweep(bound); err != nil {
		w.t.Fatal(err)
	}
}

// read gives all that can be read of a stream, as another process would.
func (w *world) read(s Stream) string {
	w.t.Helper()
	text, err := readAll(w.log.store, s)
	if err != nil {
		w.t.Fatalf("%v\n%s", err, strings.Join(w.files(), "\n"))
	}
	return text
}

func readAll(store *fsstate.Store, s Stream) (string, error) {
	l, err := OpenRead(store, service)
	if err != nil {
		return "", err
	}
	var all bytes.Buffer
	err = l.Tail(1<<62, func(_ Stream, b []byte) error { all.Write(b); return nil }, s)
	return all.String(), err
}

func (w *world) check(s Stream, want string) {
	w.t.Helper()
	if got := w.read(s); got != want {
		w.t.Errorf("%s reads %s, want %s\n%s", s, short(got), short(want), strings.Join(w.files(), "\n"))
	}
}

func short(s string) string {
	if len(s) > 300 {
		return fmt.Sprintf("%q … %q (%d bytes)", s[:150], s[len(s)-150:], len(s))
	}
	return fmt.Sprintf("%q", s)
}

// files lists the folder.
func (w *world) files() []string {
	w.t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// journal gives the reasons of the journal's lines about outputs.
func (w *world) journal() string {
	w.t.Helper()
	data, err := os.ReadFile(w.log.store.Path("", fsstate.JournalFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return string(data)
}

// killed is the panic of a process that dies at a step: nothing of it runs on.
type killed struct{}

// dieAt lets the n-th step of f be the last, and tells whether there were as many.
func (w *world) dieAt(n int, f func()) (died bool) {
	count := 0
	w.log.step = func(string) error {
		if count++; count == n {
			panic(killed{})
		}
		return nil
	}
	defer func() {
		w.log.step = nil
		if p := recover(); p != nil {
			if p != (killed{}) {
				panic(p)
			}
			died = true
		}
	}()
	f()
	return false
}

// successor is the next supervisor: it knows nothing of what the one before knew.
func (w *world) successor() {
	w.t.Helper()
	segment := w.log.segment
	w.log = must(Open(w.log.store, service))
	w.log.segment = segment
}

// lines numbers lines from a to b-1, 10 bytes each.
func lines(a, b int) string {
	var text strings.Builder
	for i := a; i < b; i++ {
		fmt.Fprintf(&text, "line %04d\n", i)
	}
	return text.String()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
