//go:build linux

package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

// line is what an agent writes into its log, one JSON object a line, in one write. The log is the judge of what ran.
type line struct {
	Event   string `json:"event"` // start, overlap, prompt, said, end
	PID     int    `json:"pid"`
	Attempt string `json:"attempt"`
	Text    string `json:"text,omitempty"`
}

// script is a scripted agent. Its steps:
//
//	log FILE              write the log there: "start", and "overlap" if another one that lives writes it too
//	read | say TEXT       log the prompt read from stdin | TEXT; say @FILE logs the file's content
//	print T | err T       write a line to stdout | stderr; flood N writes N bytes to stdout
//	cat FILE              copy FILE to stdout
//	touch FILE            make FILE
//	await FILE            wait until FILE exists; "await never" waits for ever
//	exit N | kill N       end with this code | by this signal
//	ignore N              ignore signal N from here on
//	polite N              at SIGINT or SIGTERM: log "end", exit N
//	leisurely N           the same after 200 ms
//	closestdin            replace stdin by the null device
//	hold FILE             take a lock on FILE for life: logs "overlap" if someone living has it
//	once FILE S… else S…  the first steps in the first run, the others later
//	spawn [ S… ]          start a child in the same group, without our stdin
//	setsid [ S… ]         the same in a session of its own
//	daemon [ S… ]         the same as an orphan (double fork)
//	launch [ S… ]         start a child in a session of its own with our stdin, wait, exit with its code
//	begin SESSION PROMPT  report a turn, as a hook of ours does: from a child
//	bind ID               report our own session id
type script struct {
	log  *os.File
	held []*os.File
}

func playAgent(steps []string) {
	s := &script{}
	s.play(steps)
	s.end(0)
}

func (s *script) note(event, text string) {
	if s.log == nil {
		return
	}
	data, _ := json.Marshal(line{Event: event, PID: os.Getpid(), Attempt: os.Getenv(AttemptVar), Text: text})
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

// hold takes a lock that the kernel gives back at our death, and tells whether somebody living had it.
func (s *script) hold(file string) {
	f := must(os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600))
	s.held = append(s.held, f)
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		s.note("overlap", file)
	}
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
		case "log":
			file := next()
			s.log = must(os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600))
			s.note("start", "")
			s.hold(file + ".lock")
		case "read":
			s.note("prompt", string(must(io.ReadAll(os.Stdin))))
		case "say":
			text := next()
			if file, ok := strings.CutPrefix(text, "@"); ok {
				text = string(must(os.ReadFile(file)))
			}
			s.note("said", text)
		case "print":
			fmt.Fprintln(os.Stdout, next())
		case "err":
			fmt.Fprintln(os.Stderr, next())
		case "flood":
			chunk := []byte(strings.Repeat("0123456789abcde\n", 4096))
			for n := number(); n > 0; n -= len(chunk) {
				_, _ = os.Stdout.Write(chunk[:min(n, len(chunk))])
			}
		case "cat":
			_, _ = os.Stdout.Write(must(os.ReadFile(next())))
		case "touch":
			must(0, os.WriteFile(next(), nil, 0o600))
		case "await":
			untilExists(next())
		case "exit":
			s.end(number())
		case "kill":
			_ = syscall.Kill(os.Getpid(), syscall.Signal(number()))
			select {}
		case "ignore":
			signal.Ignore(syscall.Signal(number()))
		case "polite", "leisurely":
			code, got := number(), make(chan os.Signal, 4)
			signal.Notify(got, syscall.SIGINT, syscall.SIGTERM)
			go func() {
				<-got
				if verb == "leisurely" {
					time.Sleep(200 * time.Millisecond)
				}
				s.end(code)
			}()
		case "closestdin":
			null := must(os.Open(os.DevNull))
			must(0, syscall.Dup3(int(null.Fd()), 0, 0))
		case "hold":
			s.hold(next())
		case "once":
			file := next()
			other := slices.Index(steps, "else")
			if other < 0 {
				other = len(steps)
			}
			if f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				_ = f.Close()
				steps = steps[:other]
			} else {
				steps = steps[min(other+1, len(steps)):]
			}
		case "spawn", "setsid", "daemon", "launch":
			steps = s.start(verb, steps)
		case "begin":
			cmd := program("begin-as", strconv.Itoa(os.Getpid()), next(), next())
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			must(0, cmd.Run())
		case "begin-as": // what the hook's own process does
			pid := number()
			s.report(Report{Session: next(), PID: pid, Prompt: next()})
		case "bind":
			s.report(Report{Session: next(), KeeperInstance: os.Getenv(ident.InstanceVar), KeeperSession: os.Getenv(SessionVar)})
		default:
			must(0, fmt.Errorf("no such step: %s", verb))
		}
	}
}

func program(steps ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append([]string{"agent"}, steps...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// start runs the steps in brackets in a process of their own, and gives what comes after them.
func (s *script) start(verb string, steps []string) (rest []string) {
	depth := 0
	end := slices.IndexFunc(steps, func(step string) bool {
		switch step {
		case "[":
			depth++
		case "]":
			depth--
		}
		return depth == 0
	})
	if end < 1 || steps[0] != "[" {
		must(0, fmt.Errorf("%s: no brackets", verb))
	}
	inner, rest := steps[1:end], steps[end+1:]
	cmd := program(inner...)
	switch verb {
	case "daemon":
		cmd = program(append(append([]string{"setsid", "["}, inner...), "]", "exit", "0")...)
		must(0, cmd.Run())
		return rest
	case "launch":
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		_ = cmd.Run()
		os.Exit(max(cmd.ProcessState.ExitCode(), 0))
	case "setsid":
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	must(0, cmd.Start())
	return rest
}

func (s *script) report(r Report) {
	path := os.Getenv(homeVar)
	root, profile := path, ""
	if filepath.Base(filepath.Dir(path)) == "profiles" {
		root, profile = filepath.Dir(filepath.Dir(path)), filepath.Base(path)
	}
	store := must(fsstate.Open(fsstate.Home{Path: path, Root: root, Profile: profile}, fsstate.Options{}))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	room := &Room{Store: store, Key: testKey}
	s.note("said", string(must(room.Begin(ctx, r))))
}

// testKey seals the records of the tests' homes.
var testKey = []byte("a key that no agent of the tests is told")
