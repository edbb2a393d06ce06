package ident

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// scanTagged reads kern.procargs2 of every process. It is refused for other users' processes, and leaves out the
// environment of Apple's protected binaries: those are not found. The answer is argc, program path, padding, arguments,
// environment, and strings of the kernel's; it is searched as a whole, for a wrongly counted argument could hide a tag,
// while a tag among the arguments merely holds back a launch.
func scanTagged() (Tagged, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, os.NewSyscallError("sysctl kern.proc.all", err)
	}
	if len(all) == 0 {
		return nil, errors.New("sysctl kern.proc.all: no processes")
	}
	found := Tagged{}
	self := os.Getpid()
	for _, info := range all {
		pid := int(info.Proc.P_pid)
		if pid <= 0 || pid == self || info.Proc.P_stat == stateZombie {
			continue
		}
		args, err := unix.SysctlRaw("kern.procargs2", pid)
		if errors.Is(err, unix.ENOMEM) {
			return nil, os.NewSyscallError("sysctl kern.procargs2", err)
		}
		if err != nil {
			continue // gone, or not ours to read
		}
		found.add(pid, strings.Split(string(args), "\x00"))
	}
	return found, nil
}
