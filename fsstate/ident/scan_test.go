package ident

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestTagsOfOneEnvironment(t *testing.T) {
	t.Parallel()
	const tag = InstanceVar + "="
	tests := map[string]struct {
		environ []string
		want    Tagged
	}{
		"none":                  {[]string{"A=1", ""}, Tagged{}},
		"one":                   {[]string{"A=1", tag + "aa", "B=2"}, Tagged{"aa": {5}}},
		"twice the same":        {[]string{tag + "aa", tag + "aa"}, Tagged{"aa": {5}}},
		"two values both count": {[]string{tag + "aa", tag + "bb"}, Tagged{"aa": {5}, "bb": {5}}},
		"empty value":           {[]string{tag}, Tagged{}},
		"inside another value":  {[]string{"X=" + tag + "aa"}, Tagged{}},
		"longer name":           {[]string{InstanceVar + "S=aa"}, Tagged{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Tagged{}
			got.add(5, tt.environ)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScanThatHangsEndsWithAnErrorAndCostsOneThread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slot, release := make(chan struct{}, 1), make(chan struct{})
		var calls atomic.Int32
		hangs := func() (Tagged, error) { calls.Add(1); <-release; return Tagged{}, nil }
		for range 3 {
			if _, err := scanWithin(slot, hangs); !errors.Is(err, errScanStuck) {
				t.Errorf("a scan that hangs: %v", err)
			}
		}
		if calls.Load() != 1 {
			t.Errorf("%d scans hang side by side", calls.Load())
		}
		close(release)
		synctest.Wait()
		works := func() (Tagged, error) { return Tagged{"aa": {3, 2}}, nil }
		got, err := scanWithin(slot, works)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Tagged{"aa": {2, 3}}, got); diff != "" {
			t.Errorf("after the hanging one came back (-want +got):\n%s", diff)
		}
	})
}

func TestScanErrorNamesTheWork(t *testing.T) {
	t.Parallel()
	broken := func() (Tagged, error) { return Tagged{"aa": {1}}, os.ErrPermission }
	got, err := scanWithin(make(chan struct{}, 1), broken)
	if got != nil || !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), InstanceVar) {
		t.Errorf("%v, %v", got, err)
	}
}
