package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
)

// TakenError is a service that another supervisor runs, or may run.
type TakenError struct {
	Service string
	By      ident.Ident
	Why     string
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("service %s: run by the supervisor with pid %d on %s: %s", e.Service, e.By.PID, e.By.Host, e.Why)
}

// claim makes this supervisor the one that runs the service, under the record's lock, and says what to begin with. A
// record that cannot be read is set aside; one that does not verify says nothing that is acted on, but what lives of the
// service is found by the name that its launch left in run/.
func (j *job) claim(ctx context.Context) (phase.Act, error) {
	j.Gate <- struct{}{}
	defer func() { <-j.Gate }()
	name := j.spec.Name
	unlock, err := j.Files.Store.Lock(ctx, fsstate.Name(name), "claim service "+name)
	if err != nil {
		return phase.Nothing, err
	}
	defer unlock()
	rec, state, err := j.read()
	if err != nil {
		return phase.Nothing, err
	}
	if rec != nil && rec.Supervisor.Instance != "" && rec.Supervisor.Instance != j.Supervisor.Instance {
		if f := JudgeSupervisor(j.Files.Store, rec.Supervisor); f.Verdict != ident.Dead {
			return phase.Nothing, &TakenError{Service: name, By: rec.Supervisor, Why: f.Why}
		}
	}
	if rec == nil {
		rec = &fsstate.Service{Service: name}
		state = phase.State{Up: j.spec.Autostart}
	}
	launcher := rec.Supervisor
	rec.Supervisor = j.Supervisor
	j.rec, j.state, j.told = rec, state, state
	j.findNext(launcher)
	act := j.resume(ctx)
	if j.save(); j.dirty {
		return phase.Nothing, fmt.Errorf("service %s: %w", name, errNotRecorded)
	}
	return act, nil
}

// read is the record and the state in it; nil where there is none that can be used.
func (j *job) read() (*fsstate.Service, phase.State, error) {
	rec, err := j.Files.Get(j.spec.Name)
	var state phase.State
	if err == nil && !rec.Verified {
		if f := JudgeSupervisor(j.Files.Store, rec.Supervisor); f.Verdict != ident.Dead && rec.Supervisor.Instance != j.Supervisor.Instance {
			return nil, state, &TakenError{Service: j.spec.Name, By: rec.Supervisor, Why: f.Why + "; its records are sealed with another key than ours"}
		}
		err = &fsstate.CorruptError{Path: j.Files.Path(j.spec.Name), Problem: "does not verify: another key sealed it, or somebody changed it"}
	}
	if err == nil {
		if err = json.Unmarshal(rec.State, &state); err != nil {
			err = &fsstate.CorruptError{Path: j.Files.Path(j.spec.Name), Problem: "holds no state: " + err.Error()}
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, state, nil
	}
	if _, version := errors.AsType[*fsstate.VersionError](err); version {
		return nil, state, err // a newer version of this program wrote it: nothing that we may overwrite
	}
	if _, corrupt := errors.AsType[*fsstate.CorruptError](err); corrupt {
		j.Log.Warn("service record set aside", "service", j.spec.Name, "error", err.Error())
		_, err = j.Files.Store.Quarantine(fsstate.Services, fsstate.Name(j.spec.Name)+".json", time.Now())
		return nil, phase.State{}, err
	}
	return rec, state, err
}

// resume judges what the record names, and adopts it where it lives.
func (j *job) resume(ctx context.Context) phase.Act {
	found := j.find()
	life := lifeOf(found.Verdict)
	if found.Verdict == ident.Alive && !j.adopt(ctx) {
		life = phase.Unknown
	}
	sameBoot := j.rec.Process.Instance == "" || j.rec.Process.BootID == j.Supervisor.BootID
	next, act := phase.Resume(j.state, life, sameBoot, j.spec.Settings, time.Now(), jitter())
	j.state = next
	if j.launch != nil {
		j.launch.number = next.Launch
	}
	j.planLook()
	return act
}

// find judges the recorded launch, and whatever else says of itself that it is this service.
func (j *job) find() ident.Finding {
	if j.rec.Process.Instance != "" {
		if f := j.judge(j.rec.Process); f.Verdict != ident.Dead {
			return f
		}
	}
	instances, err := j.Instances()
	if err != nil {
		return ident.Finding{Why: err.Error()}
	}
	for _, instance := range instances[j.spec.Name] {
		if instance == j.rec.Process.Instance || instance == j.spare {
			continue
		}
		f := j.judge(ident.Unlaunched(j.Supervisor, instance))
		if f.Verdict != ident.Dead {
			f.Verdict = ident.Unknown // no record vouches for it
			f.Why += ", and no record that can be trusted names it"
			return f
		}
		j.forget(instance)
	}
	return ident.Finding{Verdict: ident.Dead, Why: "nothing of it lives"}
}

// findNext looks whether the launch that the record announces has happened: then that is the process to be found. It has
// not while the process before it lives, whatever holds its witness: a fork of the dead supervisor that has not exec'ed
// yet may do so.
func (j *job) findNext(launcher ident.Ident) {
	next, before := j.rec.Next, j.rec.Process
	if j.rec.Next = ""; next == "" || next == before.Instance {
		return
	}
	if _, err := j.Files.Store.Stat(fsstate.Run, next+".in"); errors.Is(err, fs.ErrNotExist) {
		return // it was never launched: a launch takes its witness first
	}
	id := ident.Unlaunched(launcher, next)
	if ident.Check(before) == ident.Alive || j.judge(id).Verdict == ident.Dead {
		j.past = append(j.past, next)
		return
	}
	if j.judge(before).Verdict == ident.Dead { // else it stays to be found by its name
		j.past = append(j.past, before.Instance)
	}
	j.rec.Process = id
}

func (j *job) judge(id ident.Ident) ident.Finding {
	return ident.Judge(ident.Evidence{
		ID: id, Trusted: j.Files.Store.Trusted(), Tagged: j.Tagged,
		Witness: ident.ProbeWitness(j.Files.Store.Path(fsstate.Run, id.Instance+".in")),
	})
}

// JudgeSupervisor tells whether the supervisor that a record names lives; dead where it names none. Where its pid can be
// told to be dead, its witness says nothing: a fork of it that has not exec'ed yet holds that for a moment longer.
func JudgeSupervisor(store *fsstate.Store, id ident.Ident) ident.Finding {
	if id.Instance == "" {
		return ident.Finding{Verdict: ident.Dead, Why: "nobody runs it"}
	}
	if ident.Check(id) == ident.Dead {
		return ident.Finding{Verdict: ident.Dead, Why: "its process is gone"}
	}
	return ident.Judge(ident.Evidence{
		ID: id, Trusted: store.Trusted(), Tagged: func() (ident.Tagged, error) { return nil, nil },
		Witness: ident.ProbeWitness(store.Path(fsstate.Run, id.Instance+".in")),
	})
}

func lifeOf(v ident.Verdict) phase.Life {
	switch v {
	case ident.Alive:
		return phase.Alive
	case ident.Dead:
		return phase.Dead
	default:
		return phase.Unknown
	}
}

// lookAgain judges again what could not be told, which may have become clear: a fork becomes visible by its environment
// when it has exec'ed.
func (j *job) lookAgain(ctx context.Context) {
	if j.state.Reason == phase.ReasonOwnerUnknown && j.launch == nil {
		j.takeUp(ctx, j.resume(ctx))
	}
}

const (
	firstLook = 100 * time.Millisecond
	lastLook  = 30 * time.Second
)

// planLook arranges the next look at what is unknown, each after twice the time of the last.
func (j *job) planLook() {
	if j.state.Reason != phase.ReasonOwnerUnknown {
		j.lookAt, j.looks = time.Time{}, 0
		return
	}
	j.lookAt = time.Now().Add(min(firstLook<<min(j.looks, 10), lastLook))
	j.looks++
}

// release lets go of the service at the end of Run, unless it lives on: then the record goes on naming us, and the next
// supervisor takes it when we are dead.
func (j *job) release() {
	if j.launch != nil {
		j.launch.cancel()
		return
	}
	if j.state.Reason == phase.ReasonOwnerUnknown {
		j.Log.Error("service left alone: something of it lives that no record vouches for", "service", j.spec.Name)
	}
	j.rec.Supervisor, j.rec.Next = ident.Ident{}, ""
	if j.spare != "" && j.spare != j.rec.Process.Instance {
		j.past = append(j.past, j.spare)
	}
	j.save()
}
