package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"hermes-supervisor/fsstate/ident"

	"golang.org/x/sys/windows"
)

// startProcess creates the child suspended, so that it is in its job before it can start anything, and as a console
// group of its own, so that CTRL_BREAK reaches it and not us. The last handle of the job, and with it everything in it,
// goes with the Child.
func startProcess(path string, s Spec, files []*os.File) (*Child, error) {
	if s.Terminal || s.Witness != nil {
		return nil, fmt.Errorf("hand over the terminal: %w on Windows", errors.ErrUnsupported)
	}
	job, err := newJob(s.Env)
	if err != nil {
		return nil, err
	}
	p, err := os.StartProcess(path, s.Argv, &os.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: files,
		Sys: &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP},
	})
	if err != nil {
		return nil, errors.Join(err, windows.CloseHandle(job))
	}
	var assign error
	if err := p.WithHandle(func(h uintptr) { assign = windows.AssignProcessToJobObject(job, windows.Handle(h)) }); err != nil {
		assign = err
	}
	if assign != nil {
		_ = p.Kill()
		_, _ = p.Wait()
		_ = windows.CloseHandle(job)
		return nil, fmt.Errorf("put pid %d into its job object: %w", p.Pid, assign)
	}
	c := &Child{proc: p, pid: p.Pid, done: make(chan struct{}), suspended: true}
	runtime.AddCleanup(c, func(job windows.Handle) { _ = windows.CloseHandle(job) }, job)
	return c, nil
}

// newJob makes a job object that ends what is in it when its last handle is closed. It is named after the instance, so
// that the tree can be listed from the instance alone.
func newJob(env []string) (windows.Handle, error) {
	var name *uint16
	for _, kv := range env {
		if instance, ok := strings.CutPrefix(kv, ident.InstanceVar+"="); ok {
			var err error
			if name, err = jobName(instance); err != nil {
				return 0, err
			}
		}
	}
	job, err := windows.CreateJobObject(nil, name)
	if err != nil {
		return 0, os.NewSyscallError("CreateJobObject", err)
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))) //nolint:gosec // as the call wants it
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, os.NewSyscallError("SetInformationJobObject", err)
	}
	return job, nil
}

func jobName(instance string) (*uint16, error) {
	return windows.UTF16PtrFromString(`Local\hermes-supervisor-` + instance)
}

// resume resumes all threads of a process that has not run yet, which is one. It looks them up, for package os closes the handle that CreateProcess gave it.
func resume(pid int) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return os.NewSyscallError("CreateToolhelp32Snapshot", err)
	}
	defer windows.CloseHandle(snapshot) //nolint:errcheck // it was only read
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	resumed := false
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != uint32(pid) { //nolint:gosec // a pid
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return os.NewSyscallError("OpenThread", err)
		}
		_, err = windows.ResumeThread(thread)
		_ = windows.CloseHandle(thread)
		if err != nil {
			return os.NewSyscallError("ResumeThread", err)
		}
		resumed = true
	}
	if !resumed {
		return os.ErrProcessDone
	}
	return nil
}

func (c *Child) signal(sig syscall.Signal) error {
	if sig == syscall.SIGKILL {
		return c.proc.Kill()
	}
	select {
	case <-c.done:
		return os.ErrProcessDone
	default:
		return ctrlBreak(sig, c.pid)
	}
}
