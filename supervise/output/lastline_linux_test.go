package output

import (
	"strings"
	"testing"
)

func TestLastLineIsOfThisLaunchAndFitForASentence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	check := func(want string) {
		t.Helper()
		if got := w.log.LastLine(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check("")
	w.write(Out, "listening\n")
	check("listening")
	w.write(Err, "first\r\n  second: no such file  \r\n\r\n \n")
	check("second: no such file")
	w.write(Err, "unfinished")
	check("unfinished")
	w.launch()
	check("")
	w.write(Out, lines(0, 100))
	check("line 0099")
	w.write(Err, "\x1b[1;31mfatal\x1b[0m:\t\"caf\xe9\" \u202eis\x07 closed\x1b[K\n")
	check("fatal: \"caf\" is closed")
	w.write(Err, strings.Repeat("é", 400)+"\n")
	check(strings.Repeat("é", 250))
	w.write(Err, strings.Repeat("x", 20_000)+"\n")
	check(strings.Repeat("x", 500))
	w.write(Err, "\x00\x00nul\n")
	check("nul")
	w.write(Err, lines(0, 100))
	w.sweep(1 << 20) // nothing is left in the current file
	check("line 0099")
	if err := w.f[1].Truncate(0); err != nil {
		t.Fatal(err)
	}
	w.write(Err, "after a cut\n")
	check("after a cut")
	w.successor()
	check("after a cut")
}
