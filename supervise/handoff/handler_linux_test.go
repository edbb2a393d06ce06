package handoff

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"hermes-supervisor/fsstate/ident"
)

// line is what a handler writes into its log, one JSON object a line, in one write. The log is the judge of what ran.
type line struct {
	Event string `json:"event"` // start, overlap, read, said, end
	PID   int    `json:"pid"`
	Claim string `json:"claim"` // the tag in its environment
	Text  string `json:"text,omitempty"`
}

// script is a scripted platform's command. Its steps:
//
//	log FILE            write the log there: "start", and "overlap" if another one that lives writes it too
//	note FILE           write the log there, and nothing of its own start
//	read                log what stdin holds
//	say TEXT            log TEXT
//	err TEXT | hex HEX  write a line | these bytes to stderr; flood N writes N bytes in lines
//	touch FILE          make FILE
//	await FILE          wait until FILE exists; "await never" waits for ever
//	exit N              end with this code
//	once FILE N         exit with N in the first run, go on in the later ones
//	ignore N            ignore signal N from here on
//	polite N            exit N at SIGTERM or SIGINT
//	strip WHAT,…        give up stdin, stderr, or the environment (env): then it goes on in a new program
//	leave WHAT [ S… ]   start a child in a session of its own that has all, or only stdin, only the tag, or nothing
type script struct {
	log  *os.File
	held []*os.File
}

func playHandler(steps []string) int {
	s := &script{}
	s.play(steps)
	s.end(0)
	return 0
}

func (s *script) note(event, text string) {
	if s.log == nil {
		return
	}
	data, _ := json.Marshal(line{Event: event, PID: os.Getpid(), Claim: os.Getenv(ident.InstanceVar), Text: text})
	_, _ = s.log.Write(append(data, '\n'))
}

func (s *script) end(code int) {
	s.note("end", strconv.Itoa(code))
	os.Exit(code)
}

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(97)
	}
	return v
}

func (s *script) play(steps []string) {
	for len(steps) > 0 {
		verb := steps[0]
		steps = steps[1:]
		next := func() string {
			if len(steps) == 0 {
				must(0, fmt.Errorf("%s: an argument is missing", verb))
			}
			arg := steps[0]
			steps = steps[1:]
			return arg
		}
		number := func() int { return must(strconv.Atoi(next())) }
		switch verb {
		case "log", "note":
			file := next()
			s.log = must(os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600))
			if verb == "log" {
				s.note("start", "")
				s.hold(file + ".lock")
			}
		case "read":
			s.note("read", string(must(io.ReadAll(os.Stdin))))
		case "say":
			s.note("said", next())
		case "err":
			fmt.Fprintln(os.Stderr, next())
		case "hex":
			_, _ = os.Stderr.Write(must(hex.DecodeString(next())))
		case "flood":
			chunk := []byte(strings.Repeat("0123456789abcde\n", 4096))
			for n := number(); n > 0; n -= len(chunk) {
				_, _ = os.Stderr.Write(chunk[:min(n, len(chunk))])
			}
		case "touch":
			must(0, os.WriteFile(next(), nil, 0o600))
		case "await":
			untilExists(next())
		case "exit":
			s.end(number())
		case "once":
			file, code := next(), number()
			if f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				_ = f.Close()
				s.end(code)
			}
		case "ignore":
			signal.Ignore(syscall.Signal(number()))
		case "polite":
			code, got := number(), make(chan os.Signal, 4)
			signal.Notify(got, syscall.SIGINT, syscall.SIGTERM)
			go func() { <-got; s.end(code) }()
		case "strip":
			strip(next(), steps)
		case "leave":
			steps = leave(next(), steps)
		default:
			must(0, fmt.Errorf("no such step: %s", verb))
		}
	}
}

// hold takes a lock that the kernel gives back at our death, and tells whether somebody living had it.
func (s *script) hold(file string) {
	f := must(os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600))
	s.held = append(s.held, f)
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		s.note("overlap", file)
	}
}

// strip gives things up, as a program does that makes itself a daemon.
func strip(what string, rest []string) {
	null := must(os.OpenFile(os.DevNull, os.O_RDWR, 0))
	env := os.Environ()
	for thing := range strings.SplitSeq(what, ",") {
		switch thing {
		case "stdin":
			must(0, syscall.Dup3(int(null.Fd()), 0, 0))
		case "stderr":
			must(0, syscall.Dup3(int(null.Fd()), 2, 0))
		case "env":
			env = []string{}
		}
	}
	must(0, syscall.Exec(must(os.Executable()), append([]string{os.Args[0], "handler"}, rest...), env))
}

// leave starts a child for the steps in brackets, and gives what comes after them.
func leave(what string, steps []string) (rest []string) {
	end := slices.Index(steps, "]")
	if end < 1 || steps[0] != "[" {
		must(0, errors.New("leave: no brackets"))
	}
	cmd := exec.Command(os.Args[0], append([]string{"handler"}, steps[1:end]...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = []string{}
	switch what {
	case "all":
		cmd.Env, cmd.Stdin, cmd.Stderr = nil, os.Stdin, os.Stderr
	case "stdin":
		cmd.Stdin = os.Stdin
	case "tag":
		cmd.Env = []string{ident.InstanceVar + "=" + os.Getenv(ident.InstanceVar)}
	case "nothing":
	default:
		must(0, fmt.Errorf("leave: %s", what))
	}
	must(0, cmd.Start())
	return steps[end+1:]
}
