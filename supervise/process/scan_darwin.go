package process

import (
	"os"

	"hermes-supervisor/fsstate/ident"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of sys/proc.h.
const zombie = 5

// scan is the whole process table of our own user, by one sysctl: orphans go to launchd here, so that what is left of
// a tree need not be below any of the roots.
func scan([]int) (procs []proc, settled bool, err error) {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, false, os.NewSyscallError("sysctl kern.proc.all", err)
	}
	for i := range table {
		p := procOf(&table[i])
		if !p.mine {
			continue
		}
		if p.sid, err = unix.Getsid(p.pid); err != nil {
			p.sid = 0 // gone, or not ours to ask: in no session that we look for
		}
		procs = append(procs, p)
	}
	return procs, true, nil
}

func procOf(k *unix.KinfoProc) proc {
	start := k.Proc.P_starttime
	return proc{
		pid: int(k.Proc.P_pid), ppid: int(k.Eproc.Ppid), pgid: int(k.Eproc.Pgid),
		start:  start.Sec*1_000_000 + int64(start.Usec),
		living: k.Proc.P_stat != zombie,
		mine:   int(k.Eproc.Ucred.Uid) == os.Geteuid(),
	}
}

// readProc looks at one process. The error is ESRCH when there is none.
func readProc(pid int) (proc, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return proc{}, os.NewSyscallError("sysctl kern.proc.pid", err)
	}
	p := procOf(k)
	if p.pid != pid {
		return proc{}, unix.ESRCH
	}
	if p.sid, err = unix.Getsid(pid); err != nil {
		p.sid = 0
	}
	return p, nil
}

// newTags reads the instances out of all environments, at the first question.
func newTags(string) func(pid int) string {
	var tags map[int]string
	return func(pid int) string {
		if tags == nil {
			tags = map[int]string{}
			tagged, _ := ident.ScanTagged() // without it descent and session still tell
			for instance, pids := range tagged {
				for _, pid := range pids {
					tags[pid] = instance
				}
			}
		}
		return tags[pid]
	}
}
