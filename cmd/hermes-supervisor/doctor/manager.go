package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/cmd/hermes-supervisor/manager"
)

// How long a manager waits for an ordered stop where the unit does not say: DefaultTimeoutStopSec of systemd-system.conf(5),
// ExitTimeOut of launchd.plist(5).
const (
	systemdStop = 90 * time.Second
	launchdStop = 20 * time.Second
)

// lookAtManager: the units that run this home, ours and Hermes's own.
func lookAtManager(_ context.Context, e Env) []Finding {
	if e.HomeErr != nil {
		return ok("not looked at: there is no home")
	}
	var found []Finding
	units, err := manager.Installed(e.Roots, e.Home)
	if err != nil {
		found = append(found, warning(err.Error(), e.call("doctor", "--json")))
	}
	if e.Home.Profile == "" && !slices.ContainsFunc(units, func(u manager.Unit) bool { return u.Own }) {
		units = nil // its profiles' alone, each for itself
	}
	rivals, err := manager.Rivals(e.Roots, e.Home)
	if err != nil {
		found = append(found, warning(err.Error(), e.call("doctor", "--json")))
	}
	for _, r := range rivals {
		text := fmt.Sprintf("%s (%s), Hermes's own, runs the gateway of this home", r.Name, r.Path)
		if len(units) > 0 || slices.ContainsFunc(e.Config.Services, runsGateway) {
			found = append(found, problem(text+" too: each would end the other's", r.Remove))
		}
	}
	if len(units) > 1 {
		u := units[1]
		found = append(found, problem(fmt.Sprintf("%s and %s both run this home, and one of them is refused", units[0].Path, u.Path), manager.RemoveCommand(u.Manager, u.Scope, u.Name, u.Path)))
	}
	for _, u := range units {
		found = append(found, e.unit(u)...)
	}
	var names []string
	for _, u := range units {
		names = append(names, u.Path)
	}
	switch {
	case len(names) == 0 && len(rivals) > 0:
		return orOK(found, "no unit of ours; %s runs the gateway", rivals[0].Name)
	case len(names) == 0:
		return orOK(found, "no unit runs this home")
	}
	return orOK(found, "%s", strings.Join(names, ", "))
}

// unit is what is wrong with a unit of ours.
func (e Env) unit(u manager.Unit) []Finding {
	var found []Finding
	if u.Manager == manager.Systemd && u.Scope == manager.User {
		if lingers, err := manager.Linger(e.Roots, e.User); err == nil && !lingers {
			found = append(found, warning(u.Name+" ends with your last logout: your user manager does not linger", sh("loginctl", "enable-linger", e.User)))
		}
	}
	plain := filepath.IsAbs(u.Program) && !strings.Contains(u.Program, "%") // no specifier of systemd's
	if _, err := os.Stat(u.Program); plain && errors.Is(err, fs.ErrNotExist) {
		found = append(found, problem(fmt.Sprintf("%s runs %s, which is gone", u.Path, u.Program), e.installAgain(u)))
	}
	stop, need := u.Stop, manager.StopBudget(e.Config).Total()
	switch {
	case stop == 0 && u.Manager == manager.Systemd:
		stop = systemdStop
	case stop == 0 && u.Manager == manager.Launchd:
		stop = launchdStop
	case stop == 0:
		return found
	}
	if u.Own && e.ConfigErr == nil && stop < need {
		found = append(found, problem(fmt.Sprintf("%s gives an ordered stop %s, and it may take %s: run would be killed in the middle of it", u.Path, stop, need), e.installAgain(u)))
	}
	return found
}

// installAgain is the command that renews a unit of ours.
func (e Env) installAgain(u manager.Unit) string {
	install := []string{"install", u.Manager}
	if u.Manager == manager.Systemd {
		install = append(install, "--"+u.Scope)
	}
	line := e.call(install...)
	if u.Scope == manager.System {
		line = "sudo " + line
	}
	return line
}

// runsGateway tells whether a service is Hermes's gateway.
func runsGateway(s config.Service) bool {
	return len(s.Command) > 1 && strings.HasPrefix(baseName(s.Command[0]), "hermes") && slices.Contains(s.Command, "gateway")
}

func baseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }
