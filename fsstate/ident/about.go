package ident

import "fmt"

// What follows is told about a process by its number alone, for people and for guesses; [Check] tells whether it is the
// one that is meant. Their errors wrap [io/fs.ErrNotExist] or ESRCH where there is no such process.

// PIDs lists the processes that are visible here.
func PIDs() ([]int, error) { return about("list processes", pids) }

// CommandLine is what a process was started with, or the title that it gave itself instead; nil for one that has none,
// as a zombie or a thread of the kernel.
func CommandLine(pid int) ([]string, error) { return aboutOf("command line", pid, commandLine) }

// Environment is what a process was started with; nil for one that has none.
func Environment(pid int) ([]string, error) { return aboutOf("environment", pid, environment) }

// Name is what a process calls itself: at first that of its program file.
func Name(pid int) (string, error) { return aboutOf("name", pid, name) }

// Executable is the path of the program file of a process.
func Executable(pid int) (string, error) { return aboutOf("program", pid, executable) }

// Parent is the process that a process belongs to now: who started it, or who took it over from that one. 0: none here.
func Parent(pid int) (int, error) { return aboutOf("parent", pid, parent) }

// User is the real user id of a process, an error where there is no such thing (Windows).
func User(pid int) (int, error) { return aboutOf("user", pid, user) }

// Created is when a process started as psutil has it, in seconds since 1970: it moves when the clock is set, so that it is
// no part of an [Ident]. It is exact to 0.01 s on Linux, as psutil's, and to 0.001 s elsewhere.
func Created(pid int) (seconds float64, err error) { return aboutOf("start", pid, created) }

func aboutOf[T any](what string, pid int, of func(int) (T, error)) (T, error) {
	return about(fmt.Sprintf("read the %s of process %d", what, pid), func() (T, error) { return of(pid) })
}

func about[T any](doing string, ask func() (T, error)) (T, error) {
	answer, err := ask()
	if err != nil {
		err = fmt.Errorf("%s: %w", doing, err)
	}
	return answer, err
}
