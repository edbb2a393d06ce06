package main

import (
	"strings"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/service"
)

// place is a home in which a service is controlled.
type place struct {
	home   fsstate.Home
	files  fsstate.ServiceFiles
	orders fsstate.OrderFiles
}

// placeOf opens the home that "name@profile" means; without a profile the home in force.
func (a *app) placeOf(profile string) (*place, error) {
	_, source, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	home, err := a.resolveHome()
	if err != nil {
		return nil, err
	}
	if profile != "" && (profile != config.RootProfile || home.Profile != "") {
		if home, err = profileHome(home, profile); err != nil {
			return nil, err
		}
	}
	key, err := loadKey(source.Dir)
	if err != nil {
		return nil, err
	}
	store, err := fsstate.Open(home, fsstate.Options{UnsafeFilesystem: a.unsafe})
	if err != nil {
		return nil, err
	}
	return &place{home: home, files: fsstate.ServiceFiles{Store: store, Key: key}, orders: fsstate.OrderFiles{Store: store, Key: key}}, nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// supervisor judges who runs a service; dead where nobody does.
func (p *place) supervisor(rec *fsstate.Service) ident.Finding {
	return service.JudgeSupervisor(p.files.Store, rec.Supervisor)
}

// process judges the process that a record names.
func (p *place) process(rec *fsstate.Service) ident.Finding {
	if rec.Process.Instance == "" {
		return ident.Finding{Verdict: ident.Dead, Why: "never launched"}
	}
	return ident.Judge(ident.Evidence{
		ID: rec.Process, Trusted: p.files.Store.Trusted(), Tagged: ident.ScanTagged,
		Witness: ident.ProbeWitness(p.files.Store.Path(fsstate.Run, rec.Process.Instance+".in")),
	})
}
