package queue

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestDue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		waiting string // platforms, one letter each; a capital is held
		running map[string]int
		limits  Limits
		want    []int
		asked   []int // what held was asked about
	}{
		{"nothing waits", "", nil, Limits{Home: 3}, nil, nil},
		{"the oldest first, up to the home's limit", "abcde", nil, Limits{Home: 3}, []int{0, 1, 2}, []int{0, 1, 2}},
		{"what runs counts", "abc", map[string]int{"x": 2}, Limits{Home: 3}, []int{0}, []int{0}},
		{"the home is full", "abc", map[string]int{"x": 1, "y": 2}, Limits{Home: 3}, nil, nil},
		{"more runs than may", "abc", map[string]int{"x": 9}, Limits{Home: 3}, nil, nil},
		{"a limit of nothing", "abc", nil, Limits{}, nil, nil},
		{"a platform's own limit", "aaab", nil, Limits{Home: 9, Platform: map[string]int{"a": 2}}, []int{0, 1, 3}, []int{0, 1, 3}},
		{"a platform at its limit delays no other", "aaabab", map[string]int{"a": 1}, Limits{Home: 3, Platform: map[string]int{"a": 1}}, []int{3, 5}, []int{3, 5}},
		{"a platform over its limit", "ab", map[string]int{"a": 2}, Limits{Home: 9, Platform: map[string]int{"a": 1}}, []int{1}, []int{1}},
		{"a platform's limit of 0 is the home's", "aaa", nil, Limits{Home: 2, Platform: map[string]int{"a": 0}}, []int{0, 1}, []int{0, 1}},
		{"a platform's limit above the home's", "aaa", nil, Limits{Home: 2, Platform: map[string]int{"a": 9}}, []int{0, 1}, []int{0, 1}},
		{"what is held takes no place", "AbAcd", nil, Limits{Home: 2}, []int{1, 3}, []int{0, 1, 2, 3}},
		{"what is held takes no place of its platform", "Aaa", nil, Limits{Home: 3, Platform: map[string]int{"a": 1}}, []int{1}, []int{0, 1}},
		{"all is held", "ABC", nil, Limits{Home: 3}, nil, []int{0, 1, 2}},
	} {
		running := maps.Clone(tt.running)
		var asked []int
		held := func(i int) bool {
			asked = append(asked, i)
			return tt.waiting[i] < 'a'
		}
		got := Due(strings.Split(strings.ToLower(tt.waiting), ""), running, tt.limits, held)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if !slices.Equal(asked, tt.asked) {
			t.Errorf("%s: held was asked about %v, want %v", tt.name, asked, tt.asked)
		}
		if !maps.Equal(running, tt.running) {
			t.Errorf("%s: the caller's counts were changed to %v", tt.name, running)
		}
	}
}
