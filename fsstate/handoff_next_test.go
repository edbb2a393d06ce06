package fsstate

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhatWaitsNextIsRememberedForAMomentOnly(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	hf := HandoffFiles{Store: s}
	var ids []string
	for i := range 5 {
		ids = append(ids, NewHandoffID("a session", "p", "", turnEpoch.Add(time.Duration(i)*time.Second)))
	}
	if got := hf.Next("p", time.Now()); got != nil {
		t.Errorf("before anything was remembered: %v", got)
	}
	hf.RememberNext("p", ids)
	written, err := s.Stat(Tmp, nextName("p"))
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration][]string{0: ids, nextLife: ids, nextLife + 1: nil, -1: nil} {
		if got := hf.Next("p", written.ModTime.Add(after)); !slices.Equal(got, want) {
			t.Errorf("%s after: %v", after, got)
		}
	}
	if got := hf.Next("q", written.ModTime); got != nil {
		t.Errorf("for another platform: %v", got)
	}
	hf.ForgetNext("p")
	if got := hf.Next("p", written.ModTime); got != nil {
		t.Errorf("after an older one has come back: %v", got)
	}
}

func TestWhatWaitsNextIsBelievedAsFarAsItIsWhole(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	hf := HandoffFiles{Store: s}
	var ids []string
	for i := range 3 {
		ids = append(ids, NewHandoffID("a session", "p", "", turnEpoch.Add(time.Duration(i)*time.Second)))
	}
	other := NewHandoffID("a session", "q", "", turnEpoch.Add(time.Hour))
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":               {"", nil},
		"no id":               {"../../turns/x\n" + ids[0], nil},
		"cut":                 {ids[0] + "\n" + ids[1][:9], ids[:1]},
		"in another order":    {ids[1] + "\n" + ids[0] + "\n" + ids[2], ids[1:2]},
		"of another platform": {ids[0] + "\n" + other, ids[:1]},
		"binary":              {"\x00\xff", nil},
		"longer than ever":    {strings.Repeat(ids[0]+"\n", MaxRecord/idLength), ids[:1]},
	} {
		if err := s.Write(Tmp, nextName("p"), []byte(c.text)[:min(len(c.text), MaxRecord)]); err != nil {
			t.Fatal(err)
		}
		if got := hf.Next("p", time.Now()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
