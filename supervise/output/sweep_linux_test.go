package output

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestSweepArchivesWholeLinesAndPunchesThemOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := lines(0, 2000) // 20,000 bytes
	w.write(Out, text+"unfinis")
	w.write(Err, lines(0, 5))
	w.sweep(1 << 20)
	want := []string{"err", "out", extent{0, 20000}.archive(Out)}
	if got := w.files(); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("files %v, want %v", got, want)
	}
	info := must(os.Stat(w.path("out")))
	if sys := info.Sys().(*syscall.Stat_t); info.Size() != 20007 || sys.Blocks*512 > 4096 {
		t.Errorf("the current file has %d bytes in %d on the disk", info.Size(), sys.Blocks*512)
	}
	w.write(Out, "hed\n")
	w.check(Out, text+"unfinished\n")
	w.check(Err, lines(0, 5))
}

func TestUnchangedOutputIsNotLookedInto(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(Out, lines(0, 50))
	w.sweep(0)
	w.sweep(0)
	for name, f := range map[string]func(){
		"nothing": func() {}, "growth": func() { w.write(Out, "x") },
	} {
		f()
		grew, err := w.log.Sweep(0)
		if err != nil || grew != (name == "growth") {
			t.Errorf("%s: grew %t, %v", name, grew, err)
		}
	}
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	w.sweep(0) // not made again: only a launch needs it
}

func TestSweepOfUnchangedOutputIsCheap(t *testing.T) { //nolint:paralleltest // it counts allocations
	w := newWorld(t)
	w.write(Out, lines(0, 50))
	w.sweep(0)
	w.sweep(0)
	if n := testing.AllocsPerRun(10, func() { w.sweep(0) }); n > 16 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSweepUnchanged(b *testing.B) {
	w := benchWorld(b)
	for b.Loop() {
		_, _ = w.log.Sweep(0)
	}
}

func BenchmarkFiles(b *testing.B) {
	w := benchWorld(b)
	for b.Loop() {
		stdout, stderr, err := w.log.Files()
		if err != nil {
			b.Fatal(err)
		}
		stdout.Close()
		stderr.Close()
	}
}

func BenchmarkLastLine(b *testing.B) {
	w := benchWorld(b)
	w.write(Err, lines(0, 50))
	for b.Loop() {
		if w.log.LastLine() == "" {
			b.Fatal("none")
		}
	}
}

func BenchmarkSweep64MiB(b *testing.B) {
	w := benchWorld(b)
	w.log.segment = defaultSegment
	text := strings.Repeat("0123456789abcde\n", 64<<16)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		b.StopTimer()
		w.write(Out, text)
		b.StartTimer()
		w.sweep(100 << 20)
	}
}

func TestKillBetweenAnyTwoStepsLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		w := newWorld(t)
		var out, errs string
		add := func(a, b int) {
			w.write(Out, lines(a, b)+"tail")
			w.write(Err, lines(a, b))
			out, errs = out+lines(a, b)+"tail", errs+lines(a, b)
		}
		same := func(when string) {
			t.Helper()
			if w.read(Out) != out || w.read(Err) != errs {
				t.Errorf("killed at step %d, %s: out %s, err %s\n%v", n, when, short(w.read(Out)), short(w.read(Err)), w.files())
			}
		}
		add(0, 300)
		w.sweep(4000) // many pieces
		w.sweep(1 << 20)
		out, errs = w.read(Out), w.read(Err)
		add(300, 400)
		died := w.dieAt(n, func() { w.sweep(8000) })
		same("before another sweep")
		add(400, 420)
		w.successor()
		same("after a start")
		w.sweep(1 << 20)
		same("after a sweep")
		add(420, 500)
		w.sweep(1 << 20)
		same("after two sweeps")
		for _, name := range w.files() {
			if strings.Contains(name, "tmp") {
				t.Errorf("killed at step %d: %s is left", n, name)
			}
		}
		if info := must(os.Stat(w.path("out"))); info.Sys().(*syscall.Stat_t).Blocks*512 > 8192 {
			t.Errorf("killed at step %d: a hole is missing", n)
		}
		if !died {
			if n < 12 {
				t.Errorf("only %d steps", n)
			}
			return
		}
	}
}

func TestBoundHoldsAndDropsTheOldest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(Err, lines(0, 30))
	text := ""
	for i := range 40 {
		w.write(Out, lines(100*i, 100*i+100))
		text += lines(100*i, 100*i+100)
		w.sweep(8000)
		got := w.read(Out)
		if !strings.HasSuffix(text, got) || len(got) < min(len(text), 5000) || len(got) > 8000 {
			t.Fatalf("%d bytes of %d are kept: %s", len(got), len(text), short(got))
		}
	}
	w.check(Err, lines(0, 30)) // what floods stdout does not cost stderr
}

func TestFloodBeyondTheBoundIsDroppedButForItsEnd(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		w := newWorld(t)
		w.write(Out, lines(0, 100))
		w.sweep(8000)
		w.write(Out, lines(100, 9000))
		died := w.dieAt(n, func() { w.sweep(8000) })
		if got := w.read(Out); !strings.HasSuffix(lines(0, 9000), got) || !strings.HasPrefix(got, "line ") {
			t.Fatalf("killed at step %d: %s", n, short(got))
		}
		w.successor()
		w.sweep(8000)
		got := w.read(Out)
		if !strings.HasSuffix(lines(0, 9000), got) || len(got) < 3000 || len(got) > 8000 {
			t.Fatalf("killed at step %d: %s\n%v", n, short(got), w.files())
		}
		if !died {
			return
		}
	}
}

func TestLineLongerThanAPieceIsCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := strings.Repeat("x", 300<<10)
	w.write(Out, text)
	w.sweep(1 << 20)
	w.check(Out, text)
}

func TestZerosOfTheServiceAreItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := strings.Repeat("\x00", 9000) + "a\n" + strings.Repeat("\x00", 9000)
	w.write(Out, text)
	w.check(Out, text)
	w.sweep(1 << 20)
	w.sweep(1 << 20)
	w.check(Out, text)
	w.write(Out, "\x00\x00b\n"+lines(0, 50))
	w.check(Out, text+"\x00\x00b\n"+lines(0, 50))
	w.sweep(1 << 20)
	w.check(Out, text+"\x00\x00b\n"+lines(0, 50))
}

func TestServiceThatCutsItsFile(t *testing.T) {
	t.Parallel()
	archived := lines(0, 100)
	for _, tc := range []struct {
		name, lost, after string
		want              string // of after; all of it by default
	}{
		{name: "to nothing"},
		{name: "to less than archived", after: lines(500, 510)},
		{name: "to less than before, nothing pending", after: lines(500, 600)},
		{name: "and fills it beyond what was archived", lost: lines(100, 105), after: lines(500, 900)},
		{name: "and fills it to the very length", lost: lines(100, 105), after: lines(500, 605)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(Out, archived)
			w.sweep(1 << 20)
			w.write(Out, tc.lost)
			w.sweep(1 << 20)
			if err := w.f[0].Truncate(0); err != nil {
				t.Fatal(err)
			}
			w.write(Out, tc.after)
			w.check(Out, archived+tc.after)
			for n := 1; w.dieAt(n, func() { w.sweep(1 << 20) }); n++ {
				w.check(Out, archived+tc.after)
			}
			w.check(Out, archived+tc.after)
			if j := w.journal(); !strings.Contains(j, `"service":"api"`) || !strings.Contains(j, "archived up to byte 1000)") {
				t.Errorf("journal: %s", j)
			}
			w.successor()
			w.write(Out, lines(900, 950))
			w.sweep(1 << 20)
			w.sweep(1 << 20)
			w.check(Out, archived+tc.after+lines(900, 950))
			if n := strings.Count(w.journal(), "\n"); n == 0 {
				t.Error("nothing was journalled")
			}
		})
	}
}

func TestCutThatCostNoArchiveIsJournalledOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(Err, lines(0, 5))
	w.sweep(0)
	if err := w.f[1].Truncate(0); err != nil {
		t.Fatal(err)
	}
	w.write(Err, "new\n")
	w.sweep(0)
	w.sweep(0)
	w.check(Err, "new\n")
	if j := w.journal(); strings.Count(j, "\n") != 1 || !strings.Contains(j, "err was cut to 4 bytes") {
		t.Errorf("journal: %s", j)
	}
}

func TestCurrentFileThatIsRemovedIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(Out, lines(0, 100))
	w.sweep(1 << 20)
	if err := os.Remove(w.path("out")); err != nil {
		t.Fatal(err)
	}
	w.check(Out, lines(0, 100))
	w.sweep(1 << 20)
	w.launch()
	w.write(Out, lines(100, 300))
	w.sweep(1 << 20)
	w.check(Out, lines(0, 300))
	if !strings.Contains(w.journal(), "out was removed by") {
		t.Errorf("journal: %s", w.journal())
	}
}

func TestArchivesThatAreRemovedLeaveNoZeros(t *testing.T) {
	t.Parallel()
	for _, remove := range []string{"all", "newest", "oldest"} {
		w := newWorld(t)
		w.write(Out, lines(0, 1234))
		w.sweep(1 << 20)
		w.write(Out, lines(1234, 2345))
		w.sweep(1 << 20)
		w.write(Out, "rest\n")
		names := w.files()[2:]
		if len(names) != 2 {
			t.Fatalf("%v", names)
		}
		want := "rest\n"
		switch remove {
		case "newest":
			names = names[1:]
		case "oldest":
			names, want = names[:1], lines(1234, 2345)+want
		}
		for _, name := range names {
			if err := os.Remove(w.path(name)); err != nil {
				t.Fatal(err)
			}
		}
		w.check(Out, want)
		w.sweep(1 << 20)
		w.check(Out, want)
		w.write(Out, lines(0, 50))
		w.sweep(1 << 20)
		w.check(Out, want+lines(0, 50))
	}
}

func TestFullDiskLeavesEverythingAsItWasAndSaysSoOnce(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"copy", "sync", "rename"} {
		w := newWorld(t)
		w.write(Out, lines(0, 100))
		w.sweep(8000)
		w.write(Out, lines(100, 200))
		full := func(at string) error {
			if at == step {
				return fmt.Errorf("write: %w", syscall.ENOSPC)
			}
			return nil
		}
		w.log.step = full
		if _, err := w.log.Sweep(8000); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), w.path("out")) {
			t.Errorf("%s: %v", step, err)
		}
		for range 2 {
			w.write(Out, "x\n")
			if _, err := w.log.Sweep(8000); err != nil {
				t.Errorf("%s: said again: %v", step, err)
			}
		}
		w.check(Out, lines(0, 200)+"x\nx\n")
		w.log.step = nil
		w.sweep(8000)
		w.check(Out, lines(0, 200)+"x\nx\n")
		w.write(Out, lines(200, 300))
		w.log.step = full
		if _, err := w.log.Sweep(8000); err == nil {
			t.Errorf("%s: a new failure was not said", step)
		}
	}
}

func TestFullDiskCostsTheOldestArchiveFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 {
		w.write(Out, lines(100*i, 100*i+100))
		w.sweep(80000)
	}
	w.write(Out, lines(300, 400))
	removed := false
	w.log.step = func(at string) error {
		removed = removed || at == "remove"
		if at == "sync" && !removed {
			return syscall.ENOSPC
		}
		return nil
	}
	w.sweep(80000)
	w.check(Out, lines(100, 400))
}

func TestWhereNoHoleCanBePunchedWholeFilesAreArchivedAtTheNextStart(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		w := newWorld(t)
		noHoles := func(at string) error {
			if at == "hole" {
				return errors.ErrUnsupported
			}
			return nil
		}
		w.log.step = noHoles
		w.write(Out, lines(0, 400))
		w.write(Err, lines(0, 3))
		w.sweep(1 << 20)
		w.sweep(1 << 20)
		w.check(Out, lines(0, 400))
		if got := w.files(); len(got) != 2 {
			t.Fatalf("archived beside the file: %v", got)
		}
		died := w.dieAt(n, w.launch)
		w.check(Out, lines(0, 400))
		w.successor()
		w.log.solid.Store(true)
		w.launch()
		w.check(Out, lines(0, 400))
		w.write(Out, lines(400, 800))
		w.sweep(1 << 20)
		w.check(Out, lines(0, 800))
		w.check(Err, lines(0, 3))
		if info := must(os.Stat(w.path("out"))); info.Size() != 4000 {
			t.Errorf("killed at step %d: the current file has %d bytes", n, info.Size())
		}
		w.launch()
		w.write(Out, lines(800, 900))
		w.sweep(6000)
		w.check(Out, lines(400, 900))
		w.sweep(3000)
		w.check(Out, lines(800, 900))
		if w.journal() != "" {
			t.Errorf("killed at step %d: journal %s", n, w.journal())
		}
		if !died {
			return
		}
	}
}

func TestPunchThatIsDueIsDoneThoughNothingIsArchived(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(Out, lines(0, 4000))
	w.log.step = func(at string) error {
		if at == "hole" {
			panic(killed{})
		}
		return nil
	}
	func() {
		defer func() { _ = recover() }()
		w.sweep(1 << 20)
		t.Error("not killed")
	}()
	w.successor()
	w.sweep(1 << 20)
	if info := must(os.Stat(w.path("out"))); info.Size() != 40000 || info.Sys().(*syscall.Stat_t).Blocks*512 > 4096 {
		t.Error("what is archived still lies in the current file")
	}
	w.check(Out, lines(0, 4000))
}
