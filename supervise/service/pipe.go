package service

import (
	"io"
	"os"
	"sync"
)

// piped stands pipes between a launch and its output files, for programs that cannot write to a file. We copy, so our
// death is the end of such an output: the program gets SIGPIPE, or EPIPE. copied is closed when the last writer is gone.
func piped(files ...*os.File) (ends []*os.File, copied <-chan struct{}, err error) {
	var copies sync.WaitGroup
	for i, f := range files {
		r, w, err := os.Pipe()
		if err != nil {
			for _, end := range ends {
				_ = end.Close()
			}
			for _, rest := range files[i:] {
				_ = rest.Close()
			}
			return nil, nil, err
		}
		ends = append(ends, w)
		copies.Go(func() {
			_, _ = io.Copy(f, r) // until the last writer is gone; a full disk drops what does not fit
			_, _ = io.Copy(io.Discard, r)
			_, _ = r.Close(), f.Close()
		})
	}
	done := make(chan struct{})
	go func() { copies.Wait(); close(done) }()
	return ends, done, nil
}
