package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"sync"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/supervise/service"
)

// Backend is a living `hermes serve`.
type Backend struct {
	Port   string
	Secret string // "": it has none of ours

	lives    func() bool // the process that Find found; nil: that cannot be told
	files    fsstate.ServiceFiles
	instance string        // of that launch
	every    time.Duration // for tests: instead of lookEvery
}

func (b Backend) living() bool { return b.lives != nil && b.lives() }

// findEvery is between two looks at a service that is not up yet.
const findEvery = 100 * time.Millisecond

// Find waits until the service is up and has told its port. Only a record that verifies is believed, and only of a process
// that lives, and only a port that is sealed as the record is: whoever else listens at another is not told the secret. The error is a *BusyError when ctx ends before.
func Find(ctx context.Context, files fsstate.ServiceFiles, name string) (Backend, error) {
	tick := time.NewTicker(findEvery)
	defer tick.Stop()
	for {
		b, why, err := look(files, name)
		if err != nil || why == "" {
			return b, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return b, &BusyError{Reason: "SERVICE_NOT_UP", Detail: fmt.Sprintf("service %s %s", name, why)}
		}
	}
}

var aPort = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[1-9][0-9]{0,4}$`) })

// look is one look; why says what is missing.
func look(files fsstate.ServiceFiles, name string) (b Backend, why string, err error) {
	rec, err := files.Get(name)
	if errors.Is(err, fs.ErrNotExist) {
		return b, "has never been started", nil
	}
	if err != nil {
		return b, "", err
	}
	if !rec.Verified && len(files.Key) > 0 {
		return b, "", fmt.Errorf("service %s: its record does not verify", name)
	}
	var state phase.State
	if err := json.Unmarshal(rec.State, &state); err != nil {
		return b, "", fmt.Errorf("service %s: its record holds no state: %w", name, err)
	}
	if state.Phase != phase.Running || ident.Check(rec.Process) != ident.Alive {
		return b, "is not up", nil
	}
	if b.Port, b.Secret = service.Told(files, rec.Process.Instance); !aPort().MatchString(b.Port) {
		return b, "has not told its port", nil
	}
	b.files, b.instance = files, rec.Process.Instance
	b.lives = func() bool { return ident.Check(rec.Process) != ident.Dead }
	return b, "", nil
}

// BusyError is a backend that did not begin the turn: it has to be asked again, and no attempt is spent on that.
type BusyError struct {
	Reason string // a word of Hermes's (SESSION_NOT_OWNED), or one of ours
	Detail string
}

func (e *BusyError) Error() string { return e.Reason + ": " + e.Detail }
