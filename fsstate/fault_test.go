package fsstate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-supervisor/fsstate/ident"
)

// hookDisk calls a function before every operation that changes something; its error is the operation's.
type hookDisk struct {
	disk
	before func(op, name string) error
}

func (d hookDisk) Open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if flag&os.O_CREATE != 0 {
		if err := d.before("create", name); err != nil {
			return nil, err
		}
	}
	return d.disk.Open(name, flag, perm)
}

func (d hookDisk) Write(f *os.File, data []byte) (int, error) {
	err := d.before("write", f.Name())
	if errors.Is(err, io.ErrShortWrite) {
		n, _ := d.disk.Write(f, data[:len(data)/2])
		return n, nil
	}
	if err != nil {
		return 0, err
	}
	return d.disk.Write(f, data)
}

func (d hookDisk) Sync(f *os.File) error {
	if err := d.before("sync", f.Name()); err != nil {
		return err
	}
	return d.disk.Sync(f)
}

func (d hookDisk) CloseFile(f *os.File) error {
	err := d.before("close", f.Name())
	return errors.Join(err, d.disk.CloseFile(f))
}

func (d hookDisk) Mkdir(name string, perm fs.FileMode) error {
	if err := d.before("mkdir", name); err != nil {
		return err
	}
	return d.disk.Mkdir(name, perm)
}

func (d hookDisk) Rename(from, to string) error {
	if err := d.before("rename", from); err != nil {
		return err
	}
	return d.disk.Rename(from, to)
}

func (d hookDisk) Remove(name string) error {
	if err := d.before("remove", name); err != nil {
		return err
	}
	return d.disk.Remove(name)
}

func (d hookDisk) SyncDir(name string) error {
	if err := d.before("sync folder", name); err != nil {
		return err
	}
	return d.disk.SyncDir(name)
}

// failAt fails the n-th operation, and lets every later one succeed.
func failAt(d disk, n int, with error) (disk, *int) {
	count := 0
	return hookDisk{d, func(string, string) error {
		if count++; count == n {
			return with
		}
		return nil
	}}, &count
}

func TestWriteCostsOneFileSyncAndOneFolderSync(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var ops []string
	s.disk = hookDisk{s.disk, func(op, _ string) error { ops = append(ops, op); return nil }}
	if err := s.Write(Turns, "x.json", sumRecord(1)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(ops, ", "); got != "create, write, sync, close, rename, sync folder" {
		t.Errorf("operations: %s", got)
	}
}

func TestWriteThatFailsAtAnyStepLeavesTheOldOrTheNewVersion(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	healthy := s.disk
	steps := 0
	for _, fault := range []error{syscall.EIO, syscall.ENOSPC, io.ErrShortWrite} {
		for n := 1; ; n++ {
			s.disk = healthy
			if err := s.Write(Turns, "x.json", sumRecord(1)); err != nil {
				t.Fatal(err)
			}
			d, count := failAt(healthy, n, fault)
			s.disk = d
			err := s.Write(Turns, "x.json", sumRecord(2))
			if *count < n {
				break
			}
			steps++
			if err == nil {
				t.Errorf("%v at step %d was not told", fault, n)
			} else if !errors.Is(err, fault) || !strings.HasPrefix(err.Error(), "write "+s.Path(Turns, "x.json")+": ") {
				t.Errorf("%v at step %d: %v", fault, n, err)
			}
			data, _, rerr := s.Read(Turns, "x.json")
			v, verr := recordVersion(data)
			if rerr != nil || verr != nil || v != 1 && n < *count {
				t.Errorf("%v at step %d left version %d: %v, %v", fault, n, v, rerr, verr)
			}
			if left, err := s.List(Tmp); err != nil || len(left) != 0 {
				t.Errorf("%v at step %d left %v, %v", fault, n, left, err)
			}
		}
	}
	if steps < 15 {
		t.Errorf("only %d faults", steps)
	}
}

func TestWitnessThatCannotBeMadeLeavesNoName(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	healthy := s.disk
	for n := 1; ; n++ {
		d, count := failAt(healthy, n, syscall.ENOSPC)
		s.disk = d
		instance := ident.NewInstance()
		f, err := s.NewWitness(instance, []byte("x"))
		if *count < n {
			_ = f.Close()
			if n < 6 {
				t.Errorf("only %d steps", n)
			}
			return
		}
		if !errors.Is(err, syscall.ENOSPC) || f != nil {
			t.Errorf("step %d: %v", n, err)
		}
		for _, folder := range []Folder{Run, Tmp} {
			if left, err := s.List(folder); err != nil || len(left) != 0 {
				t.Errorf("step %d left %s/%v, %v", n, folder, left, err)
			}
		}
	}
}

// helperDieAt opens a store and writes a record, and kills itself before the n-th operation. Exit code 0: there were
// fewer.
func helperDieAt(args []string) int {
	n, count := must(strconv.Atoi(args[1])), 0
	die := func(string, string) error {
		if count++; count == n {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {}
		}
		return nil
	}
	s := must(open(Home{Path: args[0], Root: args[0]}, Options{}, true, func(dir string) (disk, error) {
		d, err := openDisk(dir)
		return hookDisk{d, die}, err
	}))
	must(0, s.Write(Turns, "x.json", sumRecord(2)))
	f := must(s.NewWitness(strings.Repeat("a", 32), []byte("prompt")))
	must(0, s.Journal(Event{Kind: "turn"}))
	must(0, s.Remove(Turns, "y.json"))
	fmt.Fprintln(os.Stdout, f.Name())
	return 0
}

func TestStoreIsUsableAfterSIGKILLAtEveryStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, least int }{"fresh home": {0, 29}, "old record": {1, 16}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				h := newHome(t)
				if c.old > 0 {
					if err := openStore(t, h).Write(Turns, "x.json", sumRecord(c.old)); err != nil {
						t.Fatal(err)
					}
				}
				if err := helper(t, "die-at", h.Path, strconv.Itoa(n)).Run(); err == nil {
					if n <= c.least {
						t.Errorf("only %d steps", n-1)
					}
					return
				}
				checkAfterKill(t, h, n, c.old)
			}
		})
	}
}

func checkAfterKill(t *testing.T, h Home, n, old int) {
	t.Helper()
	s := openStore(t, h)
	data, _, err := s.Read(Turns, "x.json")
	if err == nil {
		_, err = recordVersion(data)
	}
	if err != nil && (old > 0 || !errors.Is(err, fs.ErrNotExist)) {
		t.Errorf("step %d: %v", n, err)
	}
	if w := ident.ProbeWitness(s.Path(Run, strings.Repeat("a", 32)+".in")); w == ident.WitnessHeld {
		t.Errorf("step %d: the witness is held by nobody", n)
	}
	if err := s.Write(Turns, "x.json", sumRecord(3)); err != nil {
		t.Errorf("step %d: %v", n, err)
	}
	if err := s.Journal(Event{Kind: "turn"}); err != nil {
		t.Errorf("step %d: %v", n, err)
	}
	if err := s.SweepTmp(time.Now().Add(2 * staleTmp)); err != nil {
		t.Errorf("step %d: %v", n, err)
	}
	if left, err := s.List(Tmp); err != nil || len(left) != 0 {
		t.Errorf("step %d left %v, %v", n, left, err)
	}
}
