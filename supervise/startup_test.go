package supervise

import (
	"testing"

	"hermes-supervisor/policy/phase"
)

func TestStartupIsOverOnceWhenEveryServiceIsUpOrRests(t *testing.T) {
	t.Parallel()
	var s startup
	s.add("web")
	s.add("gone")
	s.add("down")
	steps := []struct {
		name string
		do   func() bool
		up   bool
	}{
		{"one is up before all have begun", func() bool { return s.at("web", phase.Running) }, false},
		{"one rests", func() bool { return s.at("down", phase.Stopped) }, false},
		{"one is on its way", func() bool { return s.at("gone", phase.Starting) }, false},
		{"all have begun", s.all, false},
		{"one crashed and waits", func() bool { return s.at("gone", phase.Waiting) }, false},
		{"one is taken out", func() bool { return s.drop("gone") }, true},
		{"one is started again", func() bool { return s.at("web", phase.Running) }, false},
	}
	for _, step := range steps {
		if up := step.do(); up != step.up {
			t.Errorf("%s: up is %v", step.name, up)
		}
	}
	if none := (&startup{}); !none.all() {
		t.Error("where there is no service everything is up")
	}
}
