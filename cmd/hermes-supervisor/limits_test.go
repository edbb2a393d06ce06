package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestAllButWindowsHasLimits(t *testing.T) {
	t.Parallel()
	if limitsSupported() == (runtime.GOOS == "windows") {
		t.Errorf("limits on %s: %v", runtime.GOOS, limitsSupported())
	}
}

func TestOnlyALimitedCommandIsWrapped(t *testing.T) {
	t.Parallel()
	argv := []string{"node", "--memory", "x", "--", "y"}
	for _, tc := range []struct {
		limits limits
		want   string
	}{
		{limits{}, ""},
		{limits{memory: 1 << 30}, "--memory=1073741824"},
		{limits{openFiles: 64}, "--open-files=64"},
		{limits{nice: -5}, "--nice=-5"},
		{limits{terminal: true}, "--terminal"},
		{limits{memory: 1 << 40, openFiles: 1024, nice: 19}, "--memory=1099511627776 --open-files=1024 --nice=19"},
	} {
		want := argv
		if tc.want != "" {
			want = slices.Concat([]string{"/self", "exec-with-limits"}, strings.Fields(tc.want), []string{"--"}, argv)
		}
		got := limitedArgv("/self", tc.limits, slices.Clone(argv))
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %q, want %q", tc.limits, got, want)
		}
	}
}

// What limitedArgv writes is what the command reads.
func TestTheShimReadsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	for _, want := range []limits{
		{memory: 1<<63 - 1, openFiles: 1<<31 - 1, nice: 19},
		{memory: 1, openFiles: 1, nice: -20},
		{nice: 1},
	} {
		given := map[string]string{}
		for _, arg := range limitedArgv("/self", want, []string{"x"}) {
			if name, value, found := strings.Cut(arg, "="); found {
				given[name] = value
			}
		}
		if got, err := parseLimits(given["--memory"], given["--open-files"], given["--nice"]); err != nil || got != want {
			t.Errorf("%+v came as %+v (%v)", want, got, err)
		}
	}
}

func TestLimitsOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ memory, openFiles, nice, want string }{
		{"0", "", "", `limit memory "0": must be 1 to 9223372036854775807`},
		{"-1", "", "", `limit memory "-1"`},
		{"1GiB", "", "", `limit memory "1GiB"`},
		{"", "0", "", `limit open files "0": must be 1 to 2147483647`},
		{"", "", "20", `limit nice "20": must be -20 to 19`},
		{"", "", "-21", `limit nice "-21"`},
		{"", "", " 1", `limit nice " 1"`},
	} {
		_, err := parseLimits(tc.memory, tc.openFiles, tc.nice)
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) || becomeCode(err) != 78 {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

func TestExitCodesOfAProgramThatCannotBeRun(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		code int
	}{
		{exec.ErrNotFound, 127},
		{syscall.ENOENT, 127}, // the interpreter of a script
		{fs.ErrPermission, 126},
		{syscall.ENOEXEC, 126},
		{exec.ErrDot, 126},
		{&limitError{"nice -1", fs.ErrPermission}, 78},
		{&limitError{"nice -1", fs.ErrNotExist}, 78},
	} {
		if got := becomeCode(fmt.Errorf("run x: %w", tc.err)); got != tc.code {
			t.Errorf("%v: %d, want %d", tc.err, got, tc.code)
		}
	}
	if !errors.Is(&limitError{"nice -1", fs.ErrPermission}, fs.ErrPermission) {
		t.Error("the cause is lost")
	}
}
