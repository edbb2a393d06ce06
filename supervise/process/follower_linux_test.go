package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
)

// output is a file that is written and followed through one description, as the keeper's is.
func output(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "out"), os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// sink collects and tells when it has been given n bytes.
type sink struct {
	mu   sync.Mutex
	got  bytes.Buffer
	want int
	full chan struct{}
}

func newSink(want int) *sink { return &sink{want: want, full: make(chan struct{})} }

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.got.Len()
	s.got.Write(b)
	if before < s.want && s.got.Len() >= s.want {
		close(s.full)
	}
	return len(b), nil
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.String()
}

func arrived(t *testing.T, full <-chan struct{}) {
	t.Helper()
	select {
	case <-full:
	case <-time.After(patience):
		t.Fatal("what was written did not arrive")
	}
}

func follow(t *testing.T, f *Follower, gone <-chan struct{}) func() error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx, gone) }()
	return func() error { defer cancel(); return <-done }
}

func TestFollowerCopiesAsTheFileGrows(t *testing.T) {
	t.Parallel()
	src, dst, gone := output(t), newSink(6), make(chan struct{})
	begun := NewFollower(src, dst, FollowOptions{})
	start := begun.LastGrowth()
	wait := follow(t, begun, gone)
	io.WriteString(src, "one\x00\xff\n")
	arrived(t, dst.full) // while the writer lives: by the watch
	if !begun.LastGrowth().After(start) {
		t.Error("growth was not seen")
	}
	io.WriteString(src, "two")
	close(gone) // what was written before is copied all the same
	if err := wait(); err != nil || dst.String() != "one\x00\xff\ntwo" {
		t.Errorf("%q, %v", dst, err)
	}
}

func TestHeldFollowerCopiesNothingUntilRelease(t *testing.T) {
	t.Parallel()
	src, dst, gone := output(t), newSink(1), make(chan struct{})
	f := NewFollower(src, dst, FollowOptions{Hold: true})
	start := f.LastGrowth()
	wait := follow(t, f, gone)
	io.WriteString(src, "held")
	if !f.LastGrowth().After(start) {
		t.Error("a held follower must see growth: it is how a stall is told")
	}
	close(gone)
	if got := dst.String(); got != "" {
		t.Errorf("copied before Release: %q", got)
	}
	f.Release()
	f.Release()
	if err := wait(); err != nil || dst.String() != "held" {
		t.Errorf("%q, %v", dst, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never := NewFollower(src, dst, FollowOptions{Hold: true})
	if err := never.Run(ctx, gone); !errors.Is(err, context.Canceled) {
		t.Errorf("never released: %v", err)
	}
}

func TestReaderThatIsGoneIsDropped(t *testing.T) {
	t.Parallel()
	src, gone := output(t), make(chan struct{})
	f := NewFollower(src, failing{iotest.ErrReader(syscall.EPIPE)}, FollowOptions{})
	io.WriteString(src, "one")
	close(gone)
	if err := follow(t, f, gone)(); err != nil {
		t.Error(err)
	}
	if !errors.Is(f.DstErr(), syscall.EPIPE) {
		t.Errorf("DstErr %v", f.DstErr())
	}
}

type failing struct{ r io.Reader }

func (f failing) Write([]byte) (int, error) { return f.r.Read(nil) }

func TestReaderThatHangsDoesNotHoldRunBack(t *testing.T) {
	t.Parallel()
	src := output(t)
	r, w := io.Pipe() // nobody reads
	defer r.Close()
	f := NewFollower(src, w, FollowOptions{})
	io.WriteString(src, "one")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx, nil) }()
	start := f.LastGrowth()
	io.WriteString(src, "more")
	if !f.LastGrowth().After(start) {
		t.Error("a busy agent looks silent while its reader hangs")
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFollowerBeginsAnewAfterATruncation(t *testing.T) {
	t.Parallel()
	src, dst, gone := output(t), newSink(4), make(chan struct{})
	wait := follow(t, NewFollower(src, dst, FollowOptions{}), gone)
	io.WriteString(src, "long")
	arrived(t, dst.full)
	if err := src.Truncate(0); err != nil {
		t.Fatal(err)
	}
	dst.mu.Lock()
	dst.want, dst.full = 6, make(chan struct{})
	full := dst.full
	dst.mu.Unlock()
	io.WriteString(src, "ab") // shorter than before
	arrived(t, full)
	close(gone)
	if err := wait(); err != nil || dst.String() != "longab" {
		t.Errorf("%q, %v", dst, err)
	}
}

func TestFollowedOutputIsPunchedOutBehindItsTail(t *testing.T) {
	t.Parallel()
	src, gone := output(t), make(chan struct{})
	text := strings.Repeat("0123456789abcde\n", 5<<16) // 5 MiB
	dst := newSink(len(text))
	wait := follow(t, NewFollower(src, dst, FollowOptions{Punch: true}), gone)
	io.WriteString(src, text)
	close(gone)
	if err := wait(); err != nil || dst.String() != text {
		t.Fatalf("%d of %d bytes, %v", len(dst.String()), len(text), err)
	}
	st, err := src.Stat()
	if err != nil || st.Size() != int64(len(text)) {
		t.Fatalf("size %d, %v", st.Size(), err)
	}
	tail := make([]byte, followTail)
	if _, err := src.ReadAt(tail, st.Size()-followTail); err != nil || string(tail) != text[len(text)-followTail:] {
		t.Errorf("the tail is not whole: %v", err)
	}
	if err := punchHole(src, 0, 4096); err != nil {
		t.Skipf("this file system punches no holes: %v", err)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || sys.Blocks*512 > 3<<20 {
		t.Errorf("%d KiB of 5 MiB are still on the disk", sys.Blocks/2)
	}
}

func init() {
	scenes["flood"] = func(s *scene) error {
		const n = 20<<20 + 7
		out, err := os.OpenFile(os.Getenv("PROCESS_TEST_DIR")+"/out", os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		c, err := s.host.Start(Spec{
			Argv:   []string{os.Args[0], "-test.run=^$"},
			Env:    ChildEnv(os.Environ(), map[string]string{partVar: fmt.Sprint("flood ", n)}),
			Stdout: out,
		})
		if err != nil {
			return err
		}
		var got bytes.Buffer
		if err := NewFollower(out, &got, FollowOptions{Punch: true}).Run(s.ctx, c.Done()); err != nil {
			return err
		}
		want := strings.Repeat("0123456789abcde\n", n/16+1)[:n]
		// The program writes pieces of 64 KiB from the start of the pattern: whole lines, so the text is one pattern.
		if e := c.Exit(); e.Code != 0 || got.String() != want {
			return fmt.Errorf("%s, %d of %d bytes, same: %t", e, got.Len(), n, got.String() == want)
		}
		return nil
	}
}

func TestFloodIsFollowedByteForByte(t *testing.T) {
	dir := t.TempDir()
	play(t, "flood", "PROCESS_TEST_DIR="+dir)
}
