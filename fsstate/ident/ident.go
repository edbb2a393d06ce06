package ident

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
)

// InstanceVar is the environment variable that carries the instance id into a launch and everything that it starts.
const InstanceVar = "HERMES_SUPERVISOR_INSTANCE"

// NewInstance draws the id of one launch of one program: 128 random bits as 32 lower-case hex characters.
func NewInstance() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(id[:])
}

// Ident is the identity of one process. The zero value names no process, and every verdict about it is [Unknown].
type Ident struct {
	// PID is the process id as this pid namespace sees it; 0: not known yet (a launch that has not been recorded).
	PID int `json:"pid"`
	// Start is when the kernel says that the process started. Linux: clock ticks since boot, field 22 of
	// /proc/PID/stat. macOS: microseconds since the epoch. Windows: 100 ns since 1601. It is only ever compared for
	// equality, and only with a value of the same boot.
	Start int64 `json:"start"`
	// BootID names the boot in which PID and Start were read; "" when it could not be read.
	BootID string `json:"boot_id,omitempty"`
	// PIDNS is the inode of /proc/self/ns/pid, 0 on systems other than Linux.
	PIDNS uint64 `json:"pidns,omitempty"`
	// TimeNS is the inode of /proc/self/ns/time: a reader in another time namespace sees other ticks for the same
	// process. 0: not known, and then not compared.
	TimeNS uint64 `json:"timens,omitempty"`
	// Host is the host name, for people. It is never compared: containers change it, clones share it.
	Host string `json:"host,omitempty"`
	// Instance is the id of the launch, see NewInstance.
	Instance string `json:"instance,omitempty"`
}

// Of reads the identity of a process that lives here. The error wraps [os.ErrProcessDone] when there is no such
// process: it is gone, is a zombie without living threads, or the number belongs to a thread.
func Of(pid int, instance string) (Ident, error) {
	p, err := look(pid)
	if err != nil {
		return Ident{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	host, _ := os.Hostname() // for people only: a process without it is identified as well
	at := here()
	return Ident{
		PID: pid, Start: p.start, BootID: at.bootID, PIDNS: at.pidns, TimeNS: at.timens,
		Host: host, Instance: instance,
	}, nil
}

// Self is [Of] this process.
func Self(instance string) (Ident, error) {
	return Of(os.Getpid(), instance)
}
