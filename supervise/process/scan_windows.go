package process

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// scan is the whole process table. Numbers are reused and parents are not updated, so that a parent which started
// after its child is another process. Each process counts as its own group and session.
func scan([]int) (procs []proc, settled bool, err error) {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, false, os.NewSyscallError("CreateToolhelp32Snapshot", err)
	}
	defer windows.CloseHandle(snapshot) //nolint:errcheck // it was only read
	started := map[int]int64{os.Getpid(): 0}
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		pid := int(entry.ProcessID)
		p, ok := look(pid)
		if !ok {
			continue
		}
		p.ppid = int(entry.ParentProcessID)
		procs = append(procs, p)
		started[pid] = p.start
	}
	for i, p := range procs {
		if start, ok := started[p.ppid]; !ok || start > p.start {
			procs[i].ppid = 0
		}
	}
	return procs, true, nil
}

// look opens a process; false where it is gone or not ours to open.
func look(pid int) (proc, bool) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid)) //nolint:gosec // a pid
	if err != nil {
		return proc{}, false
	}
	defer windows.CloseHandle(h) //nolint:errcheck // it was only read
	start, err := startOf(h)
	if err != nil {
		return proc{}, false
	}
	event, err := windows.WaitForSingleObject(h, 0)
	return proc{
		pid: pid, pgid: pid, sid: pid, start: start,
		living: err == nil && event == uint32(windows.WAIT_TIMEOUT),
		mine:   true, // the right to terminate it is asked for when it is terminated
	}, true
}

// startOf is the creation time in units of 100 ns since 1601, as ident has it.
func startOf(h windows.Handle) (int64, error) {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return 0, os.NewSyscallError("GetProcessTimes", err)
	}
	return int64(created.HighDateTime)<<32 | int64(created.LowDateTime), nil
}

var (
	kernel32          = windows.NewLazySystemDLL("kernel32.dll")
	procOpenJobObject = kernel32.NewProc("OpenJobObjectW")
)

// newTags takes being in the instance's job object for the tag: environments cannot be read here.
func newTags(instance string) func(pid int) string {
	inJob := map[int]bool{}
	if instance != "" {
		for _, pid := range jobMembers(instance) {
			inJob[pid] = true
		}
	}
	return func(pid int) string {
		if inJob[pid] {
			return instance
		}
		return ""
	}
}

// maxJobMembers bounds the list; a job with more is listed in part and in full once some have ended.
const maxJobMembers = 4096

// jobMembers lists the processes of the instance's job object, none where there is no such object.
func jobMembers(instance string) []int {
	name, err := jobName(instance)
	if err != nil {
		return nil
	}
	const query = 0x0004                                                       // JOB_OBJECT_QUERY
	h, _, _ := procOpenJobObject.Call(query, 0, uintptr(unsafe.Pointer(name))) //nolint:gosec // as the call wants it
	if h == 0 {
		return nil
	}
	job := windows.Handle(h)
	defer windows.CloseHandle(job) //nolint:errcheck // it was only read
	var list struct {              // JOBOBJECT_BASIC_PROCESS_ID_LIST
		assigned, listed uint32
		pids             [maxJobMembers]uintptr
	}
	err = windows.QueryInformationJobObject(job, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil) //nolint:gosec // as the call wants it
	if err != nil && err != windows.ERROR_MORE_DATA { //nolint:errorlint // a number
		return nil
	}
	pids := make([]int, 0, list.listed)
	for _, pid := range list.pids[:min(list.listed, maxJobMembers)] {
		pids = append(pids, int(pid))
	}
	return pids
}
