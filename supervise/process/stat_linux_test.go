package process

import "testing"

func TestParseStatCutsAtTheLastParenthesis(t *testing.T) {
	t.Parallel()
	line := func(name, state, threads string) string {
		return "42 (" + name + ") " + state + " 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 " + threads + " 0 58714 1 2 3\n"
	}
	whole := proc{pid: 42, ppid: 7, pgid: 8, sid: 9, start: 58714, living: true}
	dead := whole
	dead.living = false
	tests := []struct {
		name, text string
		want       proc
		ok         bool
	}{
		{"plain", line("sh", "S", "1"), whole, true},
		{"hostile name", line("a) R 1 (b\n", "S", "1"), whole, true},
		{"stopped lives", line("sh", "T", "1"), whole, true},
		{"zombie", line("sh", "Z", "1"), dead, true},
		{"zombie leader whose threads live", line("sh", "Z", "3"), whole, true},
		{"empty", "", proc{}, false},
		{"cut", "42 (sh) S 7 8", proc{}, false},
		{"no name", "42 S 7 8 9", proc{}, false},
		{"no numbers", line("sh", "S", "x"), whole, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := parseStat([]byte(tt.text))
			if ok != tt.ok || ok && got != tt.want {
				t.Errorf("got %+v, %t; want %+v, %t", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestTagIsTheFirstAssignment(t *testing.T) {
	t.Parallel()
	const name = "HERMES_SUPERVISOR_INSTANCE"
	for text, want := range map[string]string{
		"": "", "A=1\x00" + name + "=x\x00": "x", name + "=x\x00" + name + "=y\x00": "x", "X" + name + "=x\x00": "", name + "\x00": "",
	} {
		if got := tagIn([]byte(text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
