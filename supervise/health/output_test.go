package health

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// outputs are the files of a service with what an earlier launch wrote.
func outputs(t *testing.T, earlier string) (stdout, stderr *os.File) {
	t.Helper()
	files := make([]*os.File, 2)
	for i := range files {
		f, err := os.OpenFile(filepath.Join(t.TempDir(), "out"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		write(t, f, earlier)
		files[i] = f
	}
	return files[0], files[1]
}

func write(t *testing.T, f *os.File, text string) {
	t.Helper()
	if _, err := f.WriteString(text); err != nil {
		t.Error(err)
	}
}

func TestALineOfThisLaunchIsReady(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxLine)
	for _, tc := range []struct {
		name, re, text string
		ready          bool
	}{
		{"the line", "^listening on [0-9]+$", "booting\nlistening on 80\n", true},
		{"Windows line end", "^ready$", "ready\r\n", true},
		{"not over two lines", "one.*two", "one\ntwo\n", false},
		{"an empty line", "^$", "\n", true},
		{"no empty line", "^$", "a\nb\n", false},
		{"no line end yet", "^> $", "welcome\n> ", true},
		{"another", "ready", "red\n", false},
		{"the beginning of a huge line", "^xxx", long + long + long, true},
		{"not what lies far within it", "needle", long + "needle\n", false},
		{"after a huge line", "^needle$", long + long + "y\nneedle\n", true},
		{"across two reads", "^needle$", strings.Repeat("y", 4<<10-4) + "\nneedle\n", true},
		{"behind megabytes", "^needle$", strings.Repeat("0123456789abcde\n", 200_000) + "needle\n", true},
		{"zeros of a hole", "^needle$", strings.Repeat("\x00", 100_000) + "\nneedle\n", true},
	} {
		for _, stream := range []string{"stdout", "stderr"} {
			t.Run(tc.name+" on "+stream, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					earlier := "ready\nlistening on 1\nneedle\none two\n> "
					stdout, stderr := outputs(t, earlier)
					at := int64(len(earlier))
					go func() {
						time.Sleep(time.Second)
						f := stdout
						if stream == "stderr" {
							f = stderr
						}
						write(t, f, tc.text)
					}()
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					began := time.Now()
					err := Probe{Output: regexp.MustCompile(tc.re)}.Await(ctx, began, Stream{stdout, at}, Stream{stderr, at})
					took := time.Since(began)
					switch {
					case tc.ready && (err != nil || took < time.Second || took > 2*time.Second):
						t.Errorf("after %s: %v", took, err)
					case !tc.ready && !errors.Is(err, context.DeadlineExceeded):
						t.Errorf("after %s: %v", took, err)
					}
				})
			})
		}
	}
}

func TestALineWrittenInPiecesIsOneLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stdout, _ := outputs(t, "")
		go func() {
			for _, piece := range []string{"ready", " in a moment\n", "ready\n"} {
				time.Sleep(tailQuiet * 4 / 5)
				write(t, stdout, piece)
			}
		}()
		began := time.Now()
		if err := (Probe{Output: regexp.MustCompile("^ready$")}).Await(t.Context(), began, Stream{File: stdout}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 12*tailQuiet/5 {
			t.Errorf("ready after %s, before the line was whole", took)
		}
		time.Sleep(time.Second) // the writer ends before its bubble
	})
}

func TestACutFileIsReadFromItsBeginning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stdout, _ := outputs(t, strings.Repeat("old line\n", 1000))
		go func() {
			time.Sleep(time.Second)
			if err := stdout.Truncate(0); err != nil {
				t.Error(err)
			}
			write(t, stdout, "ready\n")
		}()
		if err := (Probe{Output: regexp.MustCompile("ready")}).Await(t.Context(), time.Now(), Stream{stdout, 9000}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOutputThatCannotBeReadEndsTheWait(t *testing.T) {
	t.Parallel()
	stdout, _ := outputs(t, "")
	stdout.Close()
	err := Probe{Output: regexp.MustCompile("x")}.Await(patient(t), time.Now(), Stream{File: stdout})
	says(t, err, "read output: ")
	if !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// A start that takes an hour is looked at four times a second, not more.
func TestWaitingForALineIsCheap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, looks := pace{next: 2 * time.Millisecond, most: 250 * time.Millisecond}, 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for p.wait(ctx) == nil {
			looks++
		}
		if looks < 3600*4 || looks > 3600*4+30 {
			t.Errorf("%d looks in an hour", looks)
		}
	})
}
