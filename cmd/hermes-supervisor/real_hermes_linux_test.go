package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hermes-supervisor/scripts/mockmodel"
)

// realHermes names the program of an installed Hermes: "hermes" itself is the fake of the other scripts here.
const realHermes = "HERMES_SUPERVISOR_TEST_HERMES"

// TestRealHermes runs testdata/hermes against an installed Hermes. Nothing is contacted: no platform is configured, and the
// model is a mock one of this process.
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
			env.Setenv("OPENAI_API_KEY", "dummy")
			env.Setenv("NO_PROXY", "127.0.0.1")
			if err := setUp(env); err != nil {
				return err
			}
			model, err := mockmodel.Start(context.Background())
			if err != nil {
				return err
			}
			env.Defer(func() { _ = model.Close() })
			env.Values["model"] = model
			return os.WriteFile(filepath.Join(env.WorkDir, "home", "config.yaml"), fmt.Appendf(nil, `model:
  default: mock-model
  provider: custom
  base_url: %s/v1
  api_key: dummy
  context_length: 200000
security:
  tirith_enabled: false
`, model.URL()), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"waitfile": waitFile, "waitservice": waitService, "killservice": killService, "waitjournal": waitJournal, "secret": checkSecret,
			"killhome": killHome, "session": sessionOf, "marker": leaveMarker, "asked": checkAsked, "lines": checkLines, "waitasked": waitAsked, "stall": stallModel,
		},
	})
}

// sessionOf FILE VARIABLE takes the session's id out of what `hermes chat` printed.
func sessionOf(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "session FILE VARIABLE")
	m := regexp.MustCompile(`(?m)^session_id: (\S+)$`).FindStringSubmatch(ts.ReadFile(args[0]))
	if m == nil {
		ts.Fatalf("no session is named")
	}
	ts.Setenv(args[1], m[1])
}

// asked counts the model's requests whose last words of the user hold a text.
func asked(ts *testscript.TestScript, text string) (n int) {
	for _, r := range ts.Value("model").(*mockmodel.Server).Requests() {
		if strings.Contains(r.LastUser(), text) {
			n++
		}
	}
	return n
}

// checkAsked TEXT N holds how often the model was asked that.
func checkAsked(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "asked TEXT N")
	if n := asked(ts, args[0]); strconv.Itoa(n) != args[1] {
		ts.Fatalf("%d times: %s", n, mockmodel.Brief(ts.Value("model").(*mockmodel.Server).Requests()))
	}
}

// waitAsked TEXT N waits until the model was asked that so often.
func waitAsked(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "waitasked TEXT N")
	ts.Check(within(patience, func() (bool, error) { return strconv.Itoa(asked(ts, args[0])) == args[1], nil }))
}

// stallModel has the model stop in the middle of each answer.
func stallModel(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 0, "stall")
	ts.Value("model").(*mockmodel.Server).Always(mockmodel.Answer{Text: "half an answer and the other half", Ending: mockmodel.Stall})
}
