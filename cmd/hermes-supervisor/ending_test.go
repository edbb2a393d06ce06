package main

import (
	"strings"
	"testing"
)

func TestEndingKeepsTheLastBytes(t *testing.T) {
	t.Parallel()
	e := ending{most: 5}
	all := ""
	for _, s := range []string{"", "a", "bcd", "efghijklmnop", "q", "rs", "", "tuvw"} {
		if n, err := e.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatalf("Write of %q: %d, %v", s, n, err)
		}
		all += s
		if want := all[max(0, len(all)-5):]; e.String() != want {
			t.Errorf("after %q: %q, not %q", all, e.String(), want)
		}
		if len(e.text) > 10 {
			t.Errorf("it keeps %d bytes", len(e.text))
		}
	}
	if e.Write([]byte(strings.Repeat("x", 1000))); e.String() != "xxxxx" {
		t.Errorf("%q", e.String())
	}
}
