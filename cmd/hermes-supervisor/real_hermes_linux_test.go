package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// realHermes names the program of an installed Hermes: "hermes" itself is the fake of the other scripts here.
const realHermes = "HERMES_SUPERVISOR_TEST_HERMES"

// TestRealHermes runs testdata/hermes against an installed Hermes. Nothing is contacted: no platform is configured, and no
// model is asked.
func TestRealHermes(t *testing.T) {
	t.Parallel()
	program := os.Getenv(realHermes)
	if program == "" {
		t.Skip("no Hermes to test with: name its program in " + realHermes)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "hermes"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv(realHermes, program)
			return setUp(env)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"waitfile": waitFile, "waitservice": waitService, "killservice": killService, "pidof": pidOf,
		},
	})
}
