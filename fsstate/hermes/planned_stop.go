package hermes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

// PlannedStop announces to a messaging gateway that the signal which follows is an ordered stop: it exits with 0 then and
// says so in its state, else with 1, as after a crash.
type PlannedStop struct{}

// plannedStop is the file that the gateway looks for when a signal reaches it. It takes it for 60 s, and only if pid and
// start are its own.
type plannedStop struct {
	TargetPID   int    `json:"target_pid"`
	TargetStart *int64 `json:"target_start_time"` // in Hermes's unit; null: not known, then the pid alone counts
	StopperPID  int    `json:"stopper_pid"`
	WrittenAt   string `json:"written_at"`
}

// PlannedStopPath is the path of that file in a home.
func PlannedStopPath(home string) string { return filepath.Join(home, ".gateway-planned-stop.json") }

// Announce writes the file for the gateway of a home, of which leader is the process that is about to be signalled. It is
// the one file of Hermes's, beside its markers, that we write, as `hermes gateway stop` does. A home that is gone is not
// made again.
func (PlannedStop) Announce(home string, leader ident.Ident) error {
	target := plannedStop{
		TargetPID: leader.PID, TargetStart: gatewayStart(leader),
		StopperPID: os.Getpid(), WrittenAt: time.Now().UTC().Format("2006-01-02T15:04:05.000000-07:00"), // as Python reads it
	}
	if pid, start := gatewayState(home); start != 0 && (pid == leader.PID || gatewayLives(pid, start)) {
		target.TargetPID, target.TargetStart = pid, &start // of a launcher's child, if that is what was started
	}
	data, err := json.Marshal(target)
	if err != nil {
		return err
	}
	return fsstate.ReplaceFile(PlannedStopPath(home), append(data, '\n'), 0o600)
}

// gatewayState is which process the gateway's own state names, in Hermes's unit; zero where it names none.
func gatewayState(home string) (pid int, start int64) {
	data, _, err := fsstate.ReadFile(filepath.Join(home, "gateway_state.json"), maxSmallFile)
	if err != nil {
		return 0, 0
	}
	return parseGatewayPID(data)
}

func gatewayLives(pid int, start int64) bool {
	id, err := ident.Of(pid, "")
	return err == nil && sameGatewayStart(id, start)
}
