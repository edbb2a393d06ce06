package process

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// slowReader takes each piece after a while; for ever where that is 0.
type slowReader struct {
	each time.Duration
	end  chan struct{}
	got  bytes.Buffer
}

func (r *slowReader) Write(b []byte) (int, error) {
	if r.each == 0 {
		<-r.end
		return 0, os.ErrClosed
	}
	time.Sleep(r.each) // of virtual time
	return r.got.Write(b)
}

// TestAHurriedFollowerWaitsForWhoeverReads: a slow reader gets everything, one that takes nothing is given up after UnreadFor.
func TestAHurriedFollowerWaitsForWhoeverReads(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("a line of output\n"), 4000)
	path := filepath.Join(t.TempDir(), "output")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		each time.Duration
		want error
	}{
		"hangs": {0, ErrUnread},
		"slow":  {UnreadFor - time.Millisecond, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				src, err := os.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer src.Close()
				reader := &slowReader{each: tc.each, end: make(chan struct{})}
				f := NewFollower(src, reader, FollowOptions{})
				gone := make(chan struct{})
				ended := make(chan error, 1)
				go func() { ended <- f.Run(t.Context(), gone) }()
				time.Sleep(3 * UnreadFor)
				select {
				case err := <-ended:
					t.Fatalf("ended before it was hurried: %v", err)
				default:
				}
				close(gone)
				began := time.Now()
				f.Hurry()
				err = <-ended
				close(reader.end)
				switch took := time.Since(began); {
				case !errors.Is(err, tc.want):
					t.Errorf("%v, want %v", err, tc.want)
				case err != nil && took != UnreadFor:
					t.Errorf("given up after %s", took)
				case err == nil && !bytes.Equal(reader.got.Bytes(), text):
					t.Errorf("%d bytes of %d", reader.got.Len(), len(text))
				}
			})
		})
	}
}
