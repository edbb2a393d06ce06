package output

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hermes-supervisor/fsstate"
)

// TestReadingBackGivesAnEndOfWhatWasWritten plays a service and its supervisors at random. Whatever is killed where,
// what can be read is an end of what was written, whole, and what is on the disk is bounded.
func TestReadingBackGivesAnEndOfWhatWasWritten(t *testing.T) {
	t.Parallel()
	base, err := os.MkdirTemp("/dev/shm", "output-test-") //nolint:usetesting // thousands of syncs, which cost nothing there
	if err != nil {
		base = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		count++
		dir := filepath.Join(base, strconv.Itoa(count))
		if err := os.Mkdir(dir, 0o700); err != nil {
			rt.Fatal(err)
		}
		store := must(fsstate.Open(fsstate.Home{Path: dir, Root: dir}, fsstate.Options{}))
		defer store.Close()
		defer os.RemoveAll(dir)
		w := &world{t: t, log: must(Open(store, service)), dir: store.Path(fsstate.Log, service)}
		w.log.segment = 100
		stdout, stderr, err := w.log.Files()
		if err != nil {
			rt.Fatal(err)
		}
		defer stdout.Close()
		defer stderr.Close()
		w.f = [2]*os.File{stdout, stderr}
		written := map[Stream]string{}
		kept := map[Stream]int{} // as much must be readable
		number := 0
		stream := rapid.SampledFrom(streams[:])
		bound := rapid.Int64Range(2000, 6000)
		swept := func(b int64) {
			total := 0
			for _, s := range streams {
				text := w.read(s)
				kept[s] = len(text)
				total += len(text)
			}
			if int64(total) > b {
				rt.Fatalf("%d bytes are kept with a bound of %d", total, b)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(rt *rapid.T) {
				s, n := stream.Draw(rt, "stream"), rapid.IntRange(0, 300).Draw(rt, "lines")
				end := rapid.SampledFrom([]string{"\n", "\n", "\n", "", "\x00", "\x00\x00\x00\n"}).Draw(rt, "end")
				var text strings.Builder
				for range n {
					number++
					fmt.Fprintf(&text, "%d%s", number, end)
				}
				w.write(s, text.String())
				written[s] += text.String()
				kept[s] += text.Len()
			},
			"sweep": func(rt *rapid.T) {
				b := bound.Draw(rt, "bound")
				w.sweep(b)
				swept(b)
			},
			"sweep that is killed": func(rt *rapid.T) {
				b := bound.Draw(rt, "bound")
				w.dieAt(rapid.IntRange(1, 20).Draw(rt, "step"), func() { w.sweep(b) })
				for _, s := range streams {
					kept[s] = min(kept[s], len(w.read(s))) // what was dropped, suffixes checked below
				}
				w.successor()
			},
			"restart": func(*rapid.T) { w.successor() },
			"cut": func(rt *rapid.T) {
				s := stream.Draw(rt, "stream")
				i := 0
				if s == Err {
					i = 1
				}
				folder := must(store.OpenLog(service))
				defer folder.Close()
				c := must(look(folder, s, os.O_RDONLY))
				lost := c.top() - c.end
				c.close()
				if err := w.f[i].Truncate(0); err != nil {
					rt.Fatal(err)
				}
				written[s] = written[s][:int64(len(written[s]))-lost]
				kept[s] = max(0, kept[s]-int(lost))
			},
			"": func(rt *rapid.T) {
				for _, s := range streams {
					got := w.read(s)
					if !strings.HasSuffix(written[s], got) {
						rt.Fatalf("%s reads %s, which is no end of %s\n%v", s, short(got), short(written[s]), w.files())
					}
					if len(got) < kept[s] {
						rt.Fatalf("%s has %d bytes, %d were there\n%v", s, len(got), kept[s], w.files())
					}
				}
			},
		})
	})
}
