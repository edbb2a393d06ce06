package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
)

func TestEveryServicePresetLoadsAndPrintsToTheSame(t *testing.T) {
	t.Parallel()
	for _, name := range agents.ServiceNames() {
		c, err := decode("f", "[[service]]\npreset = \""+name+"\"\n", around(nil))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := c.Services[0].Name; got != name {
			t.Errorf("preset %s is called %s", name, got)
		}
		again(t, c)
	}
}

func TestServicePresetIsOverriddenKeyByKey(t *testing.T) {
	t.Parallel()
	c, err := decode("f", `
[restart]
delay = "1s"
storm_starts = 50
[[service]]
preset = "hermes-gateway"
name = "gw"
env = { HERMES_DESKTOP = "1", HERMES_SUPERVISED_CHILD = "2" }
unset_env = ["OWN"]
[service.restart]
delay = "9s"
[service.ready]
deadline = "7m"
[service.health]
tcp = "127.0.0.1:1"
`, around(nil))
	if err != nil {
		t.Fatal(err)
	}
	s := c.Services[0]
	got := []any{s.Name, s.Command, s.Restart.Delay, s.Restart.StormStarts, s.Ready.File, s.Ready.Deadline, s.Health.TCP, s.Health.Heartbeat, s.Health.Failures, s.BeforeStop}
	want := []any{"gw", []string{"hermes", "gateway", "run"}, Wait(9 * time.Second), 4, "{{home}}/gateway_state.json", Duration(7 * time.Minute), "127.0.0.1:1", "", 2, PlannedStop}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantEnv := map[string]string{"HERMES_DESKTOP": "1", "HERMES_SUPERVISED_CHILD": "2", "HERMES_GATEWAY_EXTERNAL_SUPERVISOR": "1"}
	if diff := cmp.Diff(wantEnv, s.Env); diff != "" {
		t.Errorf("a variable of one's own takes the preset's away: %s", diff)
	}
	unset := " " + strings.Join(s.UnsetEnv, " ") + " "
	if !strings.Contains(unset, " OWN ") || !strings.Contains(unset, " _HERMES_GATEWAY ") || strings.Contains(unset, " HERMES_DESKTOP ") {
		t.Errorf("unset: %s", unset)
	}
}

func TestUnknownServicePresetIsToldTheKnownOnes(t *testing.T) {
	t.Parallel()
	_, err := decode("hermes.toml", "[[service]]\npreset = \"hermes-gatewy\"\n", around(nil))
	want := `hermes.toml:2: service.preset: is none of hermes-gateway, hermes-serve (did you mean "hermes-gateway"?)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}
