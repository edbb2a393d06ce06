package output

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"testing"
)

// TestReaderWhoseBytesAreArchivedMeanwhile looks first, then a sweep comes, then it reads.
func TestReaderWhoseBytesAreArchivedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(Out, lines(0, 100))
	w.sweep(1 << 20)
	w.write(Out, lines(100, 2000))
	folder := must(w.log.store.OpenLog(service))
	defer folder.Close()
	r := must(newReader(folder, Out))
	defer r.close()
	w.sweep(1 << 20)
	w.sweep(18000) // and drops the oldest
	var got bytes.Buffer
	if err := r.copyTo(r.cur.top(), func(b []byte) error { got.Write(b); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := w.read(Out); got.String() != want {
		t.Errorf("read %s, want %s", short(got.String()), short(want))
	}
	last := must(newReader(folder, Out))
	defer last.close()
	w.write(Out, lines(2000, 2100))
	if err := last.refresh(); err != nil {
		t.Fatal(err)
	}
	w.sweep(1 << 20)
	top, err := last.seekLines(3)
	if err != nil || last.pos != 20970 || top != 21000 {
		t.Errorf("the last lines are at %d to %d, %v", last.pos, top, err)
	}
}

// TestReadersAndASweeperAtOnce races them: what is read are whole numbered lines without a gap, whenever it is.
func TestReadersAndASweeperAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.log.store
	stop := make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() {
		for i := 0; ; {
			var b bytes.Buffer
			for range 3000 {
				fmt.Fprintf(&b, "%d\n", i)
				i++
			}
			if _, err := w.f[0].Write(b.Bytes()); err != nil {
				t.Error(err)
				return
			}
			if _, err := w.log.Sweep(1 << 20); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	folder := must(store.OpenLog(service))
	defer folder.Close()
	for len(must(os.ReadDir(w.dir))) < 3 { // until there is an archive
	}
	for range 1000 {
		r, err := newReader(folder, Out)
		if err != nil {
			t.Error(err)
			break
		}
		c, n := &counter{next: -1}, 0
		top, err := r.seekLines(50)
		if err == nil {
			err = r.copyTo(top, func(b []byte) error { c.take(b); n += bytes.Count(b, []byte{'\n'}); return nil })
		}
		r.close()
		if err != nil || c.bad != "" || n < 49 { // the last one may be unfinished
			t.Errorf("%d lines, line %q where %d is due, %v", n, c.bad, c.next, err)
			break
		}
	}
	close(stop)
	busy.Wait()
	if names := must(os.ReadDir(w.dir)); len(names) < 5 {
		t.Errorf("only %d files: nothing was archived meanwhile", len(names))
	}
}
