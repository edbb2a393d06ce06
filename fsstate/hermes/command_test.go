package hermes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsVisiblyAHermes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"":                         false,
		"hermes":                   true,
		"/usr/local/bin/hermes|-c": true,
		`C:\Program Files\Hermes\hermes.exe|gateway|run`: true,
		"/Applications/Hermes.app/Contents/MacOS/Hermes": true,
		"hermes chat -q x":                                                        true, // a process title
		"/venv/bin/python3|/venv/bin/hermes|--tui":                                true,
		"/venv/bin/python3.12|-u|-X|dev|/venv/bin/hermes-acp":                     true,
		`C:\venv\python.exe|C:\venv\Scripts\hermes-script.py`:                     true,
		"python|-m|hermes_cli.main|--profile|x|gateway|run":                       true,
		"python|-mhermes_cli.main|gateway|run":                                    true,
		"python|-I|-m|tui_gateway.entry":                                          true,
		"python|-m|tui_gateway.slash_worker|--session-key|k":                      true,
		"python|-m|acp_adapter.entry":                                             true,
		"pythonw.exe|-m|hermes_cli.main|serve":                                    true,
		"python3|/src/hermes-agent/hermes_cli/main.py|chat":                       true,
		"python3|gateway/run.py":                                                  true,
		"python3|run_agent.py":                                                    true,
		"/Library/Frameworks/Python.app/Contents/MacOS/Python|-m|hermes_cli.main": true,
		// Our own keepers and everyday commands carry the name too.
		"hermes-supervisor|turn|run|--|hermes|chat": false,
		"/usr/bin/hermes-supervisor|run":            false,
		"vim|hermes":                                false,
		"grep|-r|hermes_cli.main|.":                 false,
		"sh|-c|hermes chat":                         false,
		"python3|-c|import hermes_cli.main":         false,
		"python3|-m|pytest|tests/hermes_cli":        false,
		"python3|-m|hermes_client":                  false,
		"python3|-m":                                false,
		"python3|-W":                                false,
		"python3|script.py|hermes":                  false,
		"python3|/home/hermes/script.py":            false,
		"python3|my_gateway/run.py":                 false,
		"/opt/hermes/venv/bin/node|ui.js":           false,
	} {
		var argv []string
		if line != "" {
			argv = strings.Split(line, "|")
		}
		if got := isHermes(argv); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestHermesIsDeniedAHomeOnlyByItsEnvironment(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	coder, writer := filepath.Join(root, "profiles", "coder"), filepath.Join(root, "profiles", "writer")
	elsewhere := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	linked := os.Symlink(root, link) == nil
	for name, tc := range map[string]struct {
		home    string
		argv    []string
		environ []string
		want    bool
	}{
		"same":                         {coder, nil, []string{"A=b", "HERMES_HOME=" + coder + string(filepath.Separator)}, true},
		"by another name":              {root, nil, []string{"HERMES_HOME=" + link}, linked},
		"elsewhere":                    {root, nil, []string{"HERMES_HOME=" + elsewhere}, false},
		"another profile":              {coder, nil, []string{"HERMES_HOME=" + writer}, false},
		"another profile, but a flag":  {coder, []string{"hermes", "-p", "coder"}, []string{"HERMES_HOME=" + writer}, true},
		"a flag of another house":      {coder, []string{"hermes", "--profile=coder"}, []string{"HERMES_HOME=" + elsewhere}, false},
		"the root serves its profiles": {coder, nil, []string{"HERMES_HOME=" + root}, true},
		"a profile and the root":       {root, nil, []string{"HERMES_HOME=" + coder}, false},
		"not set":                      {root, nil, []string{"HOME=/x"}, true},
		"empty":                        {root, nil, []string{"HERMES_HOME= "}, true},
		"relative":                     {root, nil, []string{"HERMES_HOME=x"}, true},
		"environment overwritten":      {root, nil, nil, true},
	} {
		if got := mayServe(tc.home, tc.argv, tc.environ); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
