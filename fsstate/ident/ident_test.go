package ident

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInstanceIs32LowerCaseHexAndNew(t *testing.T) {
	t.Parallel()
	a, b := NewInstance(), NewInstance()
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(a) {
		t.Errorf("NewInstance() = %q", a)
	}
	if a == b {
		t.Errorf("two launches got the instance %s", a)
	}
}

func TestIdentKeepsItsFieldNamesOnDisk(t *testing.T) {
	t.Parallel()
	id := Ident{PID: 812, Start: 58714, BootID: "b", PIDNS: 4026531836, TimeNS: 4026531834, Host: "h", Instance: "i"}
	const want = `{"pid":812,"start":58714,"boot_id":"b","pidns":4026531836,"timens":4026531834,"host":"h","instance":"i"}`
	got, err := json.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	var back Ident
	if err := json.Unmarshal(got, &back); err != nil || back != id {
		t.Errorf("read back %+v, %v", back, err)
	}
}

func TestVerdictsAreWrittenAsWords(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal([]any{Unknown, Alive, Dead, WitnessUnknown, WitnessHeld, WitnessFree, Verdict(9), Witness(9)})
	if err != nil {
		t.Fatal(err)
	}
	const want = `["UNKNOWN","ALIVE","DEAD","UNKNOWN","HELD","FREE","UNKNOWN","UNKNOWN"]`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSelfIsAlive(t *testing.T) {
	t.Parallel()
	id, err := Self("0123")
	if err != nil {
		t.Fatal(err)
	}
	if id.PID != os.Getpid() || id.Start == 0 || id.Instance != "0123" {
		t.Errorf("Self = %+v", id)
	}
	if id.BootID == "" {
		t.Skip("this system tells no boot id")
	}
	if got := Check(id); got != Alive {
		t.Errorf("Check(Self) = %v", got)
	}
	again, err := Self("0123")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(id, again); diff != "" {
		t.Errorf("the identity of one process changed:\n%s", diff)
	}
}

func TestChildIsAliveThenDead(t *testing.T) {
	t.Parallel()
	c, _ := start(t, "idle", nil)
	id, err := Of(c.Process.Pid, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := Check(id); got != Alive {
		t.Errorf("running: %v", got)
	}
	c.end()
	if got := Check(id); got != Dead {
		t.Errorf("ended: %v", got)
	}
	if _, err := Of(id.PID, ""); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Of an ended process: %v", err)
	}
}

func TestRecycledPidIsDead(t *testing.T) {
	t.Parallel()
	id, err := Self("")
	if err != nil {
		t.Fatal(err)
	}
	for _, shift := range []int64{-1, 1, 100, -id.Start} {
		other := id
		other.Start += shift
		if got := Check(other); got != Dead {
			t.Errorf("start off by %d: %v", shift, got)
		}
	}
}

func TestWhatIsNotFromHereIsUnknownByPid(t *testing.T) {
	t.Parallel()
	self, err := Self("")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(*Ident){
		"another boot":              func(id *Ident) { id.BootID = "0d1f3ad5-0000-4000-8000-000000000000" },
		"no boot id recorded":       func(id *Ident) { id.BootID = "" },
		"another pid namespace":     func(id *Ident) { id.PIDNS = self.PIDNS + 1 },
		"another boot, pid is gone": func(id *Ident) { id.BootID, id.Start = "x", 1 },
		"no pid":                    func(id *Ident) { id.PID = 0 },
		"a process group":           func(id *Ident) { id.PID = -self.PID },
		"nothing":                   func(id *Ident) { *id = Ident{} },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "another pid namespace" && self.PIDNS == 0 {
				t.Skip("this system has no pid namespaces")
			}
			id := self
			change(&id)
			if got := Check(id); got != Unknown {
				t.Errorf("Check(%+v) = %v", id, got)
			}
			if Stopped(id) {
				t.Error("and yet known to be stopped")
			}
		})
	}
}

func TestNoProcessHasAnImpossiblePid(t *testing.T) {
	t.Parallel()
	for _, pid := range []int{0, -1} {
		if _, err := Of(pid, ""); err == nil || errors.Is(err, os.ErrProcessDone) {
			t.Errorf("Of(%d): %v; it is a mistake of the caller, not a death", pid, err)
		}
	}
}

func TestUptimeRunsForward(t *testing.T) {
	t.Parallel()
	a := Uptime()
	b := Uptime()
	if a <= 0 || b < a {
		t.Errorf("Uptime %v, then %v", a, b)
	}
}
