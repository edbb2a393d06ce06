package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// systemPrograms are programs that exist on this system only.
var systemPrograms = map[string]func(){"pty": pty, "weak": weak, "hermes": fakeHermes, "booted": booted}

// pty runs a program on a terminal of its own and types INPUT (with Go escapes) once FILE is there:
//
//	pty FILE INPUT PROGRAM ARG…
//
// What the program prints goes to stdout, and its exit code is returned.
func pty() {
	code, err := onTerminal(os.Args[1], os.Args[2], os.Args[3:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "pty:", err)
		code = 99
	}
	os.Exit(code)
}

// openTerminal makes a terminal: what is written to master is typed at it.
func openTerminal() (master, terminal *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	if terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, terminal, nil
}

// startAt starts a program as the leader of a session with that terminal, which it closes here.
func startAt(terminal *os.File, cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	return errors.Join(cmd.Start(), terminal.Close())
}

func onTerminal(file, input string, argv []string) (int, error) {
	master, terminal, err := openTerminal()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := startAt(terminal, cmd); err != nil {
		return 0, err
	}
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		_, _ = io.Copy(os.Stdout, master) // ends with EIO when the last user of the terminal is gone
	}()
	if err := stepAwait([]string{file}); err != nil {
		return 0, errors.Join(err, cmd.Process.Kill())
	}
	if err := put(master, input); err != nil {
		return 0, err
	}
	_ = cmd.Wait()
	<-printed
	return cmd.ProcessState.ExitCode(), nil
}

// weak runs a program as a user whom file permissions bind, which they do not bind root: without the capabilities that
// override them. Exit code 97 where the system does not let go of them.
func weak() {
	runtime.LockOSThread()
	if os.Geteuid() == 0 {
		for _, capability := range []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH} {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
				fmt.Fprintln(os.Stderr, "weak:", err)
				os.Exit(97)
			}
		}
	}
	path, err := exec.LookPath(os.Args[1])
	if err == nil {
		err = syscall.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "weak:", err)
	os.Exit(99)
}
