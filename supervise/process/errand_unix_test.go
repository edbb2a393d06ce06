//go:build unix

package process

import (
	"bytes"
	"syscall"
	"testing"
)

// A program that we start and do not outlive reads what it is told, not the end of an empty pipe.
func TestTheInputOfAnErrandIsThereBeforeItStarts(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("x"), 4000)
	in, err := inputOf(text)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	raw, err := in.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	read := func() (n int, err error) { // what is there now; it waits for nothing
		buf := make([]byte, 2*len(text))
		cerr := raw.Read(func(fd uintptr) bool {
			n, err = syscall.Read(int(fd), buf)
			return true
		})
		if cerr != nil {
			t.Fatal(cerr)
		}
		return n, err
	}
	if n, err := read(); n != len(text) || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err := read(); n != 0 || err != nil {
		t.Errorf("%d bytes behind it, %v: it has no end", n, err)
	}
}
