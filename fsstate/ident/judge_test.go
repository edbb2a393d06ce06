package ident

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What judge is told about our place, and about processes by pid.
var judgePlace = place{bootID: "boot", pidns: 7, timens: 9}

const (
	pidAlive    = 10 // started at 1000
	pidGone     = 11
	pidRecycled = 12 // somebody else, started at 2000
	pidHidden   = 13 // may not be examined
)

func judgeLook(pid int) (process, error) {
	switch pid {
	case pidAlive:
		return process{start: 1000}, nil
	case pidRecycled:
		return process{start: 2000}, nil
	case pidHidden:
		return process{}, os.ErrPermission
	default:
		return process{}, os.ErrProcessDone
	}
}

// Where a record comes from.
var judgeFrom = map[string]func(*Ident){
	"here":           func(*Ident) {},
	"other boot":     func(id *Ident) { id.BootID = "previous" },
	"other pidns":    func(id *Ident) { id.PIDNS = 8 },
	"no boot":        func(id *Ident) { id.BootID = "" },
	"no boot, pidns": func(id *Ident) { id.BootID, id.PIDNS = "", 8 },
}

// What the scan says; nil: there is none.
var judgeScan = map[string]func() (Tagged, error){
	"none":    nil,
	"nothing": func() (Tagged, error) { return Tagged{"other": {1}}, nil },
	"found":   func() (Tagged, error) { return Tagged{"inst": {31, 30}}, nil },
	"failed":  func() (Tagged, error) { return Tagged{"inst": {31}}, errors.New("scan broke") },
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const uncalled = "must not be called"
	const trusted, untrusted = true, false
	tests := []struct {
		name    string
		from    string
		pid     int
		witness Witness
		trusted bool
		scan    string
		want    Verdict
		why     string
		pids    []int
	}{
		{"held, here, pid gone", "here", pidGone, WitnessHeld, trusted, uncalled, Alive, "witness is held", nil},
		{"held, here, launch not recorded", "here", 0, WitnessHeld, trusted, uncalled, Alive, "witness is held", nil},
		{"held on a file system that is not trusted", "here", pidGone, WitnessHeld, untrusted, uncalled, Alive, "witness is held", nil},
		{"held, other boot", "other boot", pidGone, WitnessHeld, trusted, uncalled, Alive, "witness is held", nil},
		{"held, other container", "other pidns", pidGone, WitnessHeld, trusted, uncalled, Alive, "witness is held", nil},

		{"reboot", "other boot", pidGone, WitnessFree, trusted, uncalled, Dead, "another boot", nil},
		{"reboot, pid taken by an innocent", "other boot", pidAlive, WitnessFree, trusted, uncalled, Dead, "another boot", nil},
		{"reboot during a launch", "other boot", 0, WitnessFree, trusted, uncalled, Dead, "another boot", nil},
		{"new container", "other pidns", pidAlive, WitnessFree, trusted, "nothing", Dead, "another pid namespace", nil},
		{"agent in a container below ours closed its stdin", "other pidns", pidAlive, WitnessFree, trusted, "found", Alive, "pid 31 carries", []int{30, 31}},
		{"container below ours, scan failed", "other pidns", pidAlive, WitnessFree, trusted, "failed", Unknown, "scan broke", nil},
		{"new container, boot not known", "no boot, pidns", pidAlive, WitnessFree, trusted, uncalled, Dead, "another boot or pid namespace", nil},
		{"reboot, free is no proof", "other boot", pidGone, WitnessFree, untrusted, uncalled, Unknown, "prove nothing", nil},
		{"reboot, witness missing", "other boot", pidGone, WitnessUnknown, trusted, uncalled, Unknown, "cannot be read", nil},
		{"new container, witness missing", "other pidns", pidGone, WitnessUnknown, trusted, uncalled, Unknown, "cannot be read", nil},
		{"new container, free is no proof", "other pidns", pidGone, WitnessFree, untrusted, uncalled, Unknown, "prove nothing", nil},

		{"boot not known, witness missing", "no boot", pidGone, WitnessUnknown, trusted, uncalled, Unknown, "not known", nil},
		{"boot not known, free is no proof", "no boot", pidGone, WitnessFree, untrusted, uncalled, Unknown, "not known", nil},
		{"boot not known, dead by every rule", "no boot", pidGone, WitnessFree, trusted, "nothing", Dead, "pid 11 is gone", nil},
		{"boot not known, tagged process", "no boot", pidGone, WitnessFree, trusted, "found", Alive, "pid 31 carries", []int{30, 31}},
		{"boot not known, pid and tick match", "no boot", pidAlive, WitnessFree, trusted, uncalled, Unknown, "not known", nil},
		{"boot not known, launch not recorded", "no boot", 0, WitnessFree, trusted, "nothing", Dead, "no pid was recorded", nil},

		{"agent closed its stdin", "here", pidAlive, WitnessFree, trusted, uncalled, Alive, "pid 10 lives", nil},
		{"witness deleted, agent lives", "here", pidAlive, WitnessUnknown, trusted, uncalled, Alive, "pid 10 lives", nil},
		{"process may not be examined", "here", pidHidden, WitnessFree, trusted, uncalled, Unknown, "cannot be examined", nil},
		{"negative pid in a record", "here", -1, WitnessFree, trusted, uncalled, Unknown, "no pid", nil},

		{"gone", "here", pidGone, WitnessFree, trusted, "nothing", Dead, "pid 11 is gone", nil},
		{"gone, witness missing", "here", pidGone, WitnessUnknown, trusted, "nothing", Dead, "pid 11 is gone", nil},
		{"gone, file system not trusted", "here", pidGone, WitnessFree, untrusted, "nothing", Dead, "pid 11 is gone", nil},
		{"pid recycled", "here", pidRecycled, WitnessFree, trusted, "nothing", Dead, "another tick", nil},
		{"gone, descendant with closed stdin", "here", pidGone, WitnessFree, trusted, "found", Alive, "pid 31 carries", []int{30, 31}},
		{"pid recycled, descendant lives", "here", pidRecycled, WitnessUnknown, trusted, "found", Alive, "pid 31 carries", []int{30, 31}},
		{"gone, scan failed", "here", pidGone, WitnessFree, trusted, "failed", Unknown, "scan broke", nil},
		{"gone, no scan at hand", "here", pidGone, WitnessFree, trusted, "none", Unknown, "not searched", nil},

		{"launch not recorded, nothing runs", "here", 0, WitnessFree, trusted, "nothing", Dead, "no pid was recorded", nil},
		{"launch not recorded, but it runs", "here", 0, WitnessFree, trusted, "found", Alive, "pid 31 carries", []int{30, 31}},
		{"launch not recorded, scan failed", "here", 0, WitnessFree, trusted, "failed", Unknown, "scan broke", nil},
		{"launch not recorded, witness missing", "here", 0, WitnessUnknown, trusted, uncalled, Unknown, "no pid was recorded", nil},
		{"launch not recorded, free is no proof", "here", 0, WitnessFree, untrusted, uncalled, Unknown, "prove nothing", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := Evidence{
				ID:      Ident{PID: tt.pid, Start: 1000, BootID: "boot", PIDNS: 7, TimeNS: 9, Instance: "inst"},
				Witness: tt.witness, Trusted: tt.trusted, Tagged: judgeScan[tt.scan],
			}
			judgeFrom[tt.from](&e.ID)
			if tt.scan == uncalled {
				e.Tagged = func() (Tagged, error) {
					t.Error("the scan was made without need")
					return nil, nil
				}
			}
			got := judge(e, judgePlace, judgeLook)
			if got.Verdict != tt.want || !strings.Contains(got.Why, tt.why) {
				t.Errorf("%v: %s\nwant %v: …%s…", got.Verdict, got.Why, tt.want, tt.why)
			}
			if diff := cmp.Diff(tt.pids, got.PIDs); diff != "" {
				t.Errorf("pids (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJudgeMakesNoScanWithoutAnInstance(t *testing.T) {
	t.Parallel()
	e := Evidence{ID: Ident{PID: pidGone, BootID: "boot", PIDNS: 7}, Tagged: func() (Tagged, error) {
		t.Error("scanned")
		return nil, nil
	}}
	if got := judge(e, judgePlace, judgeLook); got.Verdict != Dead {
		t.Errorf("%+v", got)
	}
}

func TestTicksOfAnotherTimeNamespaceProveNothing(t *testing.T) {
	t.Parallel()
	for pid, want := range map[int]Verdict{pidRecycled: Unknown, pidAlive: Unknown, pidGone: Dead} {
		id := Ident{PID: pid, Start: 1000, BootID: "boot", PIDNS: 7, TimeNS: 99}
		if got := judge(Evidence{ID: id}, judgePlace, judgeLook); got.Verdict != want {
			t.Errorf("pid %d: %v: %s, want %v", pid, got.Verdict, got.Why, want)
		}
	}
}

func TestPidNamespaceNotKnownIsNotHere(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has pid namespaces")
	}
	gone := Ident{PID: pidGone, BootID: "boot"}
	if got := judge(Evidence{ID: gone}, judgePlace, judgeLook); got.Verdict != Unknown {
		t.Errorf("recorded without one: %v: %s", got.Verdict, got.Why)
	}
	gone.PIDNS = 7
	if got := judge(Evidence{ID: gone}, place{bootID: "boot"}, judgeLook); got.Verdict != Unknown {
		t.Errorf("ours unreadable: %v: %s", got.Verdict, got.Why)
	}
}

// Every combination of evidence, against the promises and not against the rules.
func TestJudgeKeepsItsPromisesOverAllEvidence(t *testing.T) {
	t.Parallel()
	var dead, alive, unknown int
	for from, move := range judgeFrom {
		for _, pid := range []int{-1, 0, pidAlive, pidGone, pidRecycled, pidHidden} {
			for _, witness := range []Witness{WitnessUnknown, WitnessHeld, WitnessFree} {
				for _, trusted := range []bool{true, false} {
					for scan, tagged := range judgeScan {
						e := Evidence{
							ID:      Ident{PID: pid, Start: 1000, BootID: "boot", PIDNS: 7, Instance: "inst"},
							Witness: witness, Trusted: trusted,
						}
						move(&e.ID)
						scans := 0
						if tagged != nil {
							e.Tagged = func() (Tagged, error) { scans++; return tagged() }
						}
						got := judge(e, judgePlace, judgeLook)
						fail := func(promise string) {
							t.Errorf("%s\n%s, pid %d, witness %v, trusted %v, scan %s: %v: %s",
								promise, from, pid, witness, trusted, scan, got.Verdict, got.Why)
						}
						free := witness == WitnessFree && trusted
						here := from == "here"
						if got.Why == "" || got.Why != strings.TrimSpace(got.Why) || strings.Contains(got.Why, "\n") {
							fail("a finding says why, in one line")
						}
						if scans > 1 {
							fail("one scan is enough")
						}
						if (got.Verdict == Alive) != (witness == WitnessHeld || (here && pid == pidAlive) || len(got.PIDs) > 0) {
							fail("alive is what holds, runs or is found")
						}
						if !slices.IsSorted(got.PIDs) {
							fail("pids are sorted")
						}
						switch got.Verdict {
						case Alive:
							alive++
						case Unknown:
							unknown++
						case Dead:
							dead++
							if witness == WitnessHeld {
								fail("a held witness is not dead")
							}
							if !here && !free {
								fail("elsewhere, only a free and trusted witness is dead")
							}
							if (here || from == "no boot") && scan != "nothing" {
								fail("here, only a scan that found nothing is dead")
							}
							if (here || from == "no boot") && (pid == pidAlive || pid == pidHidden) {
								fail("what lives or is hidden here is not dead")
							}
							if pid == 0 && !free {
								fail("an unrecorded launch is dead only by its witness")
							}
						}
					}
				}
			}
		}
	}
	if dead == 0 || alive == 0 || unknown == 0 {
		t.Errorf("%d dead, %d alive, %d unknown: the evidence does not cover all verdicts", dead, alive, unknown)
	}
}

// The real place, process and scan behind the exported function.
func TestJudgeOfRealProcesses(t *testing.T) {
	t.Parallel()
	c, _ := start(t, "idle", nil)
	id, err := Of(c.Process.Pid, NewInstance())
	if err != nil {
		t.Fatal(err)
	}
	if id.BootID == "" {
		t.Skip("this system tells no boot id")
	}
	e := Evidence{ID: id, Witness: WitnessFree, Trusted: true, Tagged: ScanTagged}
	if got := Judge(e); got.Verdict != Alive {
		t.Errorf("running: %v: %s", got.Verdict, got.Why)
	}
	c.end()
	if got := Judge(e); got.Verdict != Dead {
		t.Errorf("ended: %v: %s", got.Verdict, got.Why)
	}
}
