package service

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

// serviceSuffix names the file in run/ that says which service an instance is and, once it has been forked, which
// process: for the supervisor after one that died before its record said so. It need not be durable: after a reboot
// nothing of it lives. It never stands without the witness, since an instance without one is unknown for ever.
const serviceSuffix = ".service"

func (j *job) nameService(instance string) error {
	f, err := j.Files.Store.NewOutput(instance + serviceSuffix)
	if errors.Is(err, fs.ErrExist) { // of a launch that failed
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(j.spec.Name + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		_ = j.Files.Store.Discard(fsstate.Run, instance+serviceSuffix)
	}
	return err
}

// nameProcess adds the process. Failing costs the next supervisor a restart of it, if we die before it is recorded.
func (j *job) nameProcess(id ident.Ident) {
	f, err := j.Files.Store.OpenOutput(id.Instance + serviceSuffix)
	if err != nil {
		return
	}
	_, _ = f.WriteAt(fmt.Appendf(nil, "%d %d\n", id.PID, id.Start), int64(len(j.spec.Name)+1))
	_ = f.Close()
}

// named reads that file.
func named(store *fsstate.Store, instance string) (service string, pid int, start int64) {
	text, _, err := store.Read(fsstate.Run, instance+serviceSuffix)
	if err != nil {
		return "", 0, 0
	}
	service, rest, _ := strings.Cut(string(text), "\n")
	if n, err := fmt.Sscanf(rest, "%d %d\n", &pid, &start); err != nil || n != 2 {
		return service, 0, 0
	}
	return service, pid, start
}

// Instances are the launches that left their service's name in run/, by that name.
func Instances(store *fsstate.Store) (map[string][]string, error) {
	files, err := store.List(fsstate.Run)
	if err != nil {
		return nil, err
	}
	instances := map[string][]string{}
	for _, file := range files {
		if instance, is := strings.CutSuffix(file, serviceSuffix); is {
			name, _, _ := named(store, instance)
			instances[name] = append(instances[name], instance)
		}
	}
	return instances, nil
}

// forget removes the files of instances of which nothing lives, and which no record names any more.
func (j *job) forget(instances ...string) {
	for _, instance := range instances {
		if err := j.Files.Store.Discard(fsstate.Run, instance+serviceSuffix, instance+secretSuffix, instance+toldSuffix, instance+fromSuffix, instance+".in"); err != nil {
			j.Log.Warn("run files not removed", "service", j.spec.Name, "error", err.Error())
		}
	}
}
