package service

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hermes-supervisor/supervise/process"
)

// helper is another process of this binary.
type helper struct {
	*process.Child

	w     *world
	lines chan string
	seen  []string
	in    *os.File
}

// start starts one, and kills it when the test ends.
func (w *world) start(args ...string) *helper {
	w.t.Helper()
	r, out, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	in, words, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	defer in.Close()
	child, err := host.Start(process.Spec{Argv: append([]string{self()}, args...), Stdin: in, Stdout: out, Stderr: os.Stderr})
	if err != nil {
		w.t.Fatal(err)
	}
	p := &helper{Child: child, w: w, lines: make(chan string, 1000), in: words}
	go func() {
		defer r.Close()
		for lines := bufio.NewScanner(r); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	w.t.Cleanup(func() { p.end(); words.Close() })
	return p
}

// supervisor runs a service in another process.
func (w *world) supervisor(spec Spec) *helper {
	w.t.Helper()
	text, err := json.Marshal(call{Home: w.home, Key: w.files.Key, Spec: spec})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.start("supervisor", string(text))
}

// tell gives it a line.
func (p *helper) tell(line string) {
	p.w.t.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.w.t.Fatal(err)
	}
}

// hear waits for a line with these words.
func (p *helper) hear(line string) {
	p.w.t.Helper()
	end := time.After(patience)
	for {
		select {
		case said := <-p.lines:
			p.seen = append(p.seen, said)
			if strings.Contains(said, line) {
				return
			}
		case <-end:
			p.w.t.Fatalf("waiting for %q; said: %q", line, p.seen)
		}
	}
}

// end kills it, as a power cut would.
func (p *helper) end() {
	_ = p.Signal(syscall.SIGKILL)
	<-p.Done()
}

// said is an error of Run in one line.
func said(err error) string {
	if taken, is := errors.AsType[*TakenError](err); is {
		return "taken " + strconv.Itoa(taken.By.PID)
	}
	return "refused " + err.Error()
}
