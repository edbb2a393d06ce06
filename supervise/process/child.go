package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// Spec is a program to start. There is no shell and no expansion.
type Spec struct {
	Argv []string // Argv[0] is looked up in our own PATH when it names no folder
	Dir  string   // working directory; empty: ours
	Env  []string // the whole environment, see ChildEnv; nil: ours
	// The standard streams are files, which nobody has to drain for the child. nil is the null device.
	Stdin, Stdout, Stderr *os.File
	// Terminal gives the child our controlling terminal, which the three streams then are, for as long as it lives: see
	// terminal.go. A program that is to have it from its first instruction on is started by way of TakeTerminal.
	Terminal bool
	// Witness is inherited as descriptor 3, where stdin cannot be it; nil: nothing is. On Unix only.
	Witness *os.File
}

// StartError says that a program could not be started. Nothing runs.
type StartError struct {
	Argv0 string
	Err   error
}

func (e *StartError) Error() string { return fmt.Sprintf("start %s: %v", e.Argv0, e.Err) }

// Unwrap is the cause: fs.ErrNotExist, fs.ErrPermission, exec.ErrNotFound…
func (e *StartError) Unwrap() error { return e.Err }

// Child is a started program. Its methods may be called from several goroutines.
type Child struct {
	proc *os.Process
	pid  int
	done chan struct{}
	exit Exit // written before done is closed

	suspended bool  // created and not yet resumed, on Windows
	loan      *loan // nil: it has not got our terminal
}

// PID is its process id, also after its end.
func (c *Child) PID() int { return c.pid }

// Done is closed when the child has ended and been reaped. It waits for the process, not for its streams: a descendant
// that keeps them open delays nothing.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit is how the child ended. Before Done is closed it is {Code: -1}.
func (c *Child) Exit() Exit {
	select {
	case <-c.done:
		return c.exit
	default:
		return Exit{Code: -1}
	}
}

// Resume lets a child run that was created suspended, which is so on Windows only. It does nothing the second time.
func (c *Child) Resume() error {
	if !c.suspended {
		return nil
	}
	if err := resume(c.pid); err != nil {
		return fmt.Errorf("resume pid %d: %w", c.pid, err)
	}
	c.suspended = false
	return nil
}

// Signal sends sig to the child alone, through its handle: never to a process that got its number later. The error is
// os.ErrProcessDone when it has ended.
func (c *Child) Signal(sig syscall.Signal) error {
	if err := c.signal(sig); err != nil {
		return fmt.Errorf("signal %s to pid %d: %w", signalName(int(sig)), c.pid, err)
	}
	return nil
}

// launch starts s as a child of this process, without registering it anywhere.
func launch(s Spec) (*Child, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return nil, &StartError{Argv0: `""`, Err: exec.ErrNotFound}
	}
	path, err := exec.LookPath(s.Argv[0])
	if err != nil {
		return nil, &StartError{Argv0: s.Argv[0], Err: cause(err)}
	}
	files := []*os.File{s.Stdin, s.Stdout, s.Stderr}
	var null *os.File
	for i, f := range files {
		if f != nil {
			continue
		}
		if null == nil {
			if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return nil, &StartError{Argv0: s.Argv[0], Err: err}
			}
			defer null.Close() //nolint:errcheck // the null device
		}
		files[i] = null
	}
	if s.Witness != nil {
		files = append(files, s.Witness)
	}
	c, err := startProcess(path, s, files)
	if err != nil {
		if st, derr := os.Stat(s.Dir); s.Dir != "" && (derr != nil || !st.IsDir()) {
			err = fmt.Errorf("working directory %w", dirError(s.Dir, derr))
		}
		return nil, &StartError{Argv0: s.Argv[0], Err: cause(err)}
	}
	return c, nil
}

// dirError is why nothing can be started in a folder: the system's own error names the program instead.
func dirError(dir string, err error) error {
	if in, ok := errors.AsType[*fs.PathError](err); ok {
		err = in.Err
	}
	if err == nil {
		err = errors.New("not a directory")
	}
	return fmt.Errorf("%s: %w", dir, err)
}

// cause takes the name that StartError already gives off an error of LookPath.
func cause(err error) error {
	if e, ok := err.(*exec.Error); ok { //nolint:errorlint // the outermost layer only
		return e.Err
	}
	return err
}
