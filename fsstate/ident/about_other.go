//go:build !linux

package ident

import (
	"errors"
	"io/fs"

	gops "github.com/shirou/gopsutil/v4/process"
)

func pids() ([]int, error) {
	all, err := gops.Pids()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, pid := range all {
		if pid > 0 {
			pids = append(pids, int(pid))
		}
	}
	return pids, nil
}

// of is a process without the checks of gops.NewProcess, which our callers make themselves.
func of(pid int) *gops.Process { return &gops.Process{Pid: int32(pid)} } //nolint:gosec // a pid fits

func commandLine(pid int) ([]string, error) { return told(of(pid).CmdlineSlice()) }
func environment(pid int) ([]string, error) { return told(of(pid).Environ()) }
func name(pid int) (string, error)          { return told(of(pid).Name()) }
func executable(pid int) (string, error)    { return told(of(pid).Exe()) }

func parent(pid int) (int, error) {
	ppid, err := told(of(pid).Ppid())
	return int(ppid), err
}

func user(pid int) (int, error) {
	uids, err := told(of(pid).Uids())
	if err != nil || len(uids) == 0 {
		return 0, errors.Join(err, fs.ErrNotExist)
	}
	return int(uids[0]), nil
}

func created(pid int) (seconds float64, err error) {
	ms, err := told(of(pid).CreateTime())
	return float64(ms) / 1000, err
}

// told gives the library's word for a process that is not there ours.
func told[T any](about T, err error) (T, error) {
	if errors.Is(err, gops.ErrorProcessNotRunning) {
		err = fs.ErrNotExist
	}
	return about, err
}
