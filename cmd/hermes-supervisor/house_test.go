package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "hermes-supervisor"

// mayImport is the drawing of DESIGN.md ("The house"): for each room, what of ours it may import. Imports point down;
// rooms on one floor do not know each other unless it is said here.
var mayImport = map[string][]string{
	"cmd/hermes-supervisor":         {"cmd/hermes-supervisor/agents", "cmd/hermes-supervisor/config", "cmd/hermes-supervisor/hooks", "cmd/hermes-supervisor/wrap", "supervise", "supervise/handoff", "policy/queue", "supervise/service", "supervise/health", "supervise/output", "policy/phase", "supervise/serve", "supervise/turn", "supervise/process", "fsstate", "fsstate/ident", "fsstate/hermes", "policy", "cmd/hermes-supervisor/manager", "cmd/hermes-supervisor/doctor", "supervise/follow", "cmd/hermes-supervisor/watch"},
	"cmd/hermes-supervisor/agents":  {},
	"cmd/hermes-supervisor/hooks":   {"cmd/hermes-supervisor/config", "fsstate"},
	"cmd/hermes-supervisor/doctor":  {"cmd/hermes-supervisor/agents", "cmd/hermes-supervisor/config", "cmd/hermes-supervisor/hooks", "cmd/hermes-supervisor/manager", "supervise/handoff", "supervise/service", "supervise/turn", "fsstate", "fsstate/hermes", "fsstate/ident", "policy", "policy/phase", "policy/queue"},
	"cmd/hermes-supervisor/manager": {"cmd/hermes-supervisor/config", "fsstate"},
	"cmd/hermes-supervisor/wrap":    {"cmd/hermes-supervisor/config"},
	"cmd/hermes-supervisor/config":  {"cmd/hermes-supervisor/agents", "fsstate"}, // which names can be file names
	"supervise":                     {"supervise/handoff", "supervise/turn", "supervise/service", "supervise/output", "supervise/process", "fsstate", "fsstate/hermes", "fsstate/ident", "policy", "policy/phase", "supervise/follow", "policy/queue"},
	"supervise/service":             {"supervise/output", "supervise/health", "supervise/process", "fsstate", "fsstate/fault", "fsstate/ident", "policy/phase", "supervise/awake"},
	"supervise/serve":               {"supervise/service", "fsstate", "fsstate/ident", "policy/phase", "supervise/awake"},
	"supervise/turn":                {"supervise/process", "fsstate", "fsstate/fault", "fsstate/ident", "fsstate/hermes", "policy", "supervise/awake"},
	"supervise/handoff":             {"supervise/turn", "supervise/output", "supervise/process", "fsstate", "fsstate/fault", "fsstate/ident", "policy", "policy/queue", "supervise/awake"},
	"supervise/process":             {"fsstate/ident", "supervise/awake"},
	"supervise/health":              {"supervise/awake"},
	"supervise/service/childtest":   {},
	"supervise/output":              {"fsstate"},
	"fsstate":                       {"fsstate/fault", "fsstate/ident"},
	"fsstate/fault":                 {},
	"fsstate/hermes":                {"fsstate", "fsstate/ident"},
	"fsstate/ident":                 {},
	"policy":                        {},
	"policy/phase":                  {},
	"policy/queue":                  {"policy"},
	"scripts/bench-hooks":           {},
	"scripts/bench-supervisors":     {},
	"scripts/bench":                 {},
	"scripts/bench-handoffs":        {"scripts/bench", "supervise/handoff", "supervise/turn", "fsstate", "policy", "policy/queue"},
	"scripts/bench-handoffs/loop":   {},
	"scripts/bench-turns":           {"scripts/bench", "supervise/turn", "fsstate", "fsstate/ident", "policy"},
	"scripts/kill-run":              {"supervise/service/childtest"},
	"scripts/kill-storm":            {"fsstate/fault"},
	"scripts/man":                   {},
	"scripts/mockmodel":             {},
	"scripts/real-agents":           {"scripts/bench", "scripts/mockmodel"},
	"supervise/awake":               {},
	"scripts/desktop":               {},
	"supervise/follow":              {"supervise/process", "fsstate", "fsstate/ident", "policy", "policy/phase", "policy/queue"},
	"scripts/check-manifests":       {}, // a module of its own
	"cmd/hermes-supervisor/watch":   {},
}

// policyMayNot are the things that would let a decision depend on something that it was not handed.
var policyMayNot = []string{"os", "io/fs", "net", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "os/exec"}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		room := filepath.ToSlash(rel)
		allowed, known := mayImport[room]
		if !known {
			t.Errorf("%s: the room %s is not in the drawing: say here what it may import", path, room)
			return nil
		}
		seen[room] = true
		checkImports(t, path, room, allowed)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range mayImport {
		if !seen[room] {
			t.Errorf("the drawing has a room %s that is not there", room)
		}
	}
}

func checkImports(t *testing.T, path, room string, allowed []string) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
imports:
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if room == "policy" || strings.HasPrefix(room, "policy/") {
			for _, bad := range policyMayNot {
				if name == bad {
					t.Errorf("%s imports %s: policy decides from what it is handed", path, name)
				}
			}
		}
		ours, found := strings.CutPrefix(name, module+"/")
		if !found {
			continue
		}
		for _, ok := range allowed {
			if ours == ok {
				continue imports
			}
		}
		t.Errorf("%s imports %s: %s may not", path, name, room)
	}
}
