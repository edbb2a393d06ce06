package ident

import (
	"strconv"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// BootID names the running boot: the machine's GUID and the number that the boot loader counts up at every start,
// both from the registry. "" when either cannot be read, and then everything about other processes is UNKNOWN by
// pid. A count that stood still would do no harm: the start time of a process is wall clock here, and differs between
// boots by itself.
func BootID() string {
	machine, err := readKey(`SOFTWARE\Microsoft\Cryptography`, func(k registry.Key) (string, error) {
		guid, _, err := k.GetStringValue("MachineGuid")
		return guid, err
	})
	if err != nil || machine == "" {
		return ""
	}
	boot, err := readKey(`SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters`,
		func(k registry.Key) (string, error) {
			count, _, err := k.GetIntegerValue("BootId")
			return strconv.FormatUint(count, 10), err
		})
	if err != nil {
		return ""
	}
	return machine + "/" + boot
}

func readKey(path string, read func(registry.Key) (string, error)) (string, error) {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return "", err
	}
	defer k.Close() //nolint:errcheck // it was only read
	return read(k)
}

// Uptime is the time since boot, sleep included and clock steps not: GetTickCount64, some 16 ms exact.
func Uptime() time.Duration {
	return windows.DurationSinceBoot()
}

func readPlace() place {
	return place{bootID: BootID()}
}
