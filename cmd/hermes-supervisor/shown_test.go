package main

import "testing"

func TestShownSpellsOutWhatATerminalObeys(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                "",
		"日本語 ré\tx":                       "日本語 ré\tx",
		"a\x1b[2J\x1b]0;b\ac":             `a\x1b[2J\x1b]0;b\ac`,
		"one\r\ntwo":                      `one\r\ntwo`,
		"\x9b31m \xff \u009b \u202e \x7f": `\x9b31m \xff \u009b \u202e \x7f`,
		`back\slash "quoted"`:             `back\slash "quoted"`,
	} {
		if got := shown(in); got != want {
			t.Errorf("%q is shown as %q, not %q", in, got, want)
		}
	}
	if got := shownLines("a\x1b\n\nb\r\n"); got != "a\\x1b\n\nb\\r\n" {
		t.Errorf("%q", got)
	}
}
