package hermes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

// LiveProcess says whether a Hermes process of that home lives: a writer of one of
// its markers, the holder of a lease, the messaging gateway of gateway.pid, or a
// process whose command line is Hermes and whose environment does not name another
// home. While live is true nothing of Hermes's is written. The pid is one of those
// that live, 0 where none can be named.
//
// It fails closed: what may be alive is live, and so is what cannot be read; then
// err says what. Only content that is broken counts as absent in the marker file
// and in gateway.pid, as Hermes counts it, since the processes themselves are
// looked at as well. This process is never counted.
func LiveProcess(home string) (pid int, live bool, err error) {
	for _, look := range []func(string) (int, bool, error){liveWriter, liveLease, liveGateway, liveCommand} {
		if pid, live, err = look(home); live {
			return pid, live, err
		}
	}
	return 0, false, nil
}

// liveWriter: a marker that names no writer is no evidence of a process.
func liveWriter(home string) (pid int, live bool, err error) {
	entries, data, err := loadMarkers(MarkersPath(home))
	if err != nil && data == nil {
		return 0, true, err
	}
	for _, e := range entries {
		if !e.valid || !e.marker.HasWriter || e.marker.WriterPID == os.Getpid() {
			continue
		}
		if verdict, _ := Writer(e.marker); verdict != ident.Dead {
			return e.marker.WriterPID, true, nil
		}
	}
	return 0, false, nil
}

func liveLease(home string) (pid int, live bool, err error) {
	leases, err := ActiveLeases(home)
	if err != nil {
		return 0, true, err
	}
	for _, l := range leases {
		// An entry without a usable pid fences its own session (row 29 of the
		// facts: one unknowable owner once blocked everything), not the home.
		if l.PID == 0 || l.PID == os.Getpid() {
			continue
		}
		if verdict, _ := LeaseOwner(l); verdict != ident.Dead {
			return l.PID, true, nil
		}
	}
	return 0, false, nil
}

func liveGateway(home string) (pid int, live bool, err error) {
	path := filepath.Join(home, "gateway.pid")
	data, _, err := fsstate.ReadFile(path, maxSmallFile)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, true, &BrokenError{Path: path, Err: err}
	}
	pid, start := parseGatewayPID(data)
	if pid <= 0 || pid > math.MaxInt32 || pid == os.Getpid() {
		return 0, false, nil
	}
	id, err := ident.Of(pid, "")
	if errors.Is(err, os.ErrProcessDone) {
		return 0, false, nil
	}
	if err != nil {
		return pid, true, fmt.Errorf("look at the gateway: %w", err)
	}
	if start == 0 || sameGatewayStart(id, start) {
		return pid, true, nil
	}
	// Another start is a recycled pid, or a program name that Hermes's reading of
	// /proc/PID/stat tripped over: the command line tells.
	argv, err := ident.CommandLine(pid)
	if err != nil {
		return pid, true, err
	}
	return pid, isHermes(argv), nil
}

// parseGatewayPID reads gateway.pid: an object with pid and start_time, or, in old
// versions, the bare number. 0 is not told; Hermes takes garbage as no file.
func parseGatewayPID(data []byte) (pid int, start int64) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if json.Unmarshal(data, &pid) == nil {
		return pid, 0
	}
	fields, err := decodeFields(data)
	if err != nil {
		return 0, 0
	}
	if json.Unmarshal(orNull(fields["pid"]), &pid) != nil {
		return 0, 0
	}
	if json.Unmarshal(orNull(fields["start_time"]), &start) != nil {
		start = 0
	}
	return pid, start
}
