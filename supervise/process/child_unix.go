//go:build unix

package process

import (
	"os"
	"syscall"
)

// resume has nothing to do: a child runs from the start.
func resume(int) error { return nil }

func (c *Child) signal(sig syscall.Signal) error { return c.proc.Signal(sig) }

// startProcess makes the child the leader of a session of its own, so that its group is its own (a signal to it
// reaches nobody else), and Ctrl-C at the terminal reaches the supervisor first. A session has one controlling terminal
// and a terminal one session, so a child that is to have ours stays in our session, as the leader of a group of its own.
// It returns after the exec.
func startProcess(path string, s Spec, files []*os.File) (*Child, error) {
	p, err := os.StartProcess(path, s.Argv, &os.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: files,
		Sys: &syscall.SysProcAttr{Setsid: !s.Terminal, Setpgid: s.Terminal}, // no Pdeathsig: the agent outlives its keeper
	})
	if err != nil {
		return nil, err
	}
	return &Child{proc: p, pid: p.Pid, done: make(chan struct{})}, nil
}
