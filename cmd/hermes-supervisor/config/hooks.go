package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Hooks is how an agent reports its own turns: what it writes to the stdin of a hook, and where its hooks are configured.
type Hooks struct {
	// Event, Session, Prompt and Cwd are keys of the JSON object that a hook reads: dots lead into the objects below
	// ("extra.user_message"). Event and Session are required.
	Event   string `toml:"event"`
	Session string `toml:"session"`
	Prompt  string `toml:"prompt"`
	Cwd     string `toml:"cwd"`
	// Begin, End and Alive are the events with which a turn begins, ends, and shows that it is still at work.
	Begin []string `toml:"begin"`
	End   []string `toml:"end"`
	Alive []string `toml:"alive"`
	// Done are those of End after which the turn has done its work: of a turn whose keeper has died only these are taken for
	// its end, since others (a session that is closed) come of an agent that is ended in its midst too.
	Done []string `toml:"done"`
	// Process are the names of the agent's own program, by which it is found among the ancestors of a hook: without .exe,
	// .js or .py. A program that node, bun or python runs goes by the name of its script or module.
	Process []string `toml:"process"`
	// Settings are the places of the agent's settings file, or where Format is HooksFiles of the folder for Files: the
	// first one counts whose variables (${NAME}) are set. ~ is the user's home folder, {{home}} the Hermes home.
	Settings []string `toml:"settings"`
	// Format is HooksJSON, HooksYAML or HooksFiles.
	Format string `toml:"format"`
	// Entry is what stands in the list hooks.EVENT of a settings file, as JSON. In one of its strings {{command}} is the
	// command line of the hook.
	Entry string `toml:"entry"`
	// Files are the files of a plugin of ours, where that is how hooks are added. {{command}} is the command line of the
	// hook, for a shell, {{command_json}} the same as a JSON array of arguments.
	Files map[string]string `toml:"files"`
	// PerRun are arguments that set the hooks for one run, if the agent has such: {{settings}} is what would stand in the
	// settings file.
	PerRun []string `toml:"per_run"`
	// Note is what a person should know after an installation.
	Note string `toml:"note"`
}

// How an agent's hooks are configured.
const (
	HooksJSON  = "json"  // an entry for each event in a JSON file, which may have comments
	HooksYAML  = "yaml"  // the same in a YAML file
	HooksFiles = "files" // a plugin of ours
)

// OurFolder is in the path of every file of HooksFiles: nobody else has such a file there, so that it may be replaced.
const OurFolder = "hermes-supervisor"

// hookVariable is a variable in a place of Settings.
var hookVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`) })

// Places are the values of Settings whose variables are set, in order: the first is where the agent looks.
func (h Hooks) Places(getenv func(string) string, userHome, hermesHome string) []string {
	var places []string
	for _, place := range h.Settings {
		missing := false
		place = hookVariable().ReplaceAllStringFunc(place, func(v string) string {
			value := getenv(v[2 : len(v)-1])
			missing = missing || value == ""
			return value
		})
		if rest, ok := strings.CutPrefix(place, "~/"); ok {
			missing = missing || userHome == ""
			place = filepath.Join(userHome, rest)
		}
		place = strings.ReplaceAll(place, "{{home}}", hermesHome)
		if !missing && filepath.IsAbs(place) {
			places = append(places, filepath.Clean(place))
		}
	}
	return places
}

// Events are all events that a hook is installed for.
func (h Hooks) Events() []string { return slices.Concat(h.Begin, h.Alive, h.End) }

func (h *Hooks) check() *fault {
	if h == nil {
		return nil
	}
	for _, required := range []struct {
		key   string
		empty bool
	}{
		{"event", h.Event == ""},
		{"session", h.Session == ""},
		{"prompt", h.Prompt == ""},
		{"begin", len(h.Begin) == 0},
		{"end", len(h.End) == 0},
		{"process", len(h.Process) == 0},
		{"settings", len(h.Settings) == 0},
	} {
		if required.empty {
			return &fault{key: required.key, problem: "is needed"}
		}
	}
	for _, path := range []struct{ key, value string }{{"event", h.Event}, {"session", h.Session}, {"prompt", h.Prompt}, {"cwd", h.Cwd}} {
		if path.value != "" && slices.Contains(strings.Split(path.value, "."), "") {
			return &fault{key: path.key, problem: fmt.Sprintf("%.60q is no key, or keys with dots between them", path.value)}
		}
	}
	seen := map[string]string{}
	for _, list := range []struct {
		key    string
		events []string
	}{{"begin", h.Begin}, {"end", h.End}, {"alive", h.Alive}} {
		for _, event := range list.events {
			if event == "" {
				return &fault{key: list.key, problem: "has an event without a name"}
			}
			if other, twice := seen[event]; twice {
				return &fault{key: list.key, other: other, problem: fmt.Sprintf("%.60q is in %s too", event, other)}
			}
			seen[event] = list.key
		}
	}
	for _, name := range h.Process {
		if name == "" || strings.ContainsAny(name, `/\`) {
			return &fault{key: "process", problem: fmt.Sprintf("%.60q is no name of a program", name)}
		}
	}
	for _, place := range h.Settings {
		if !filepath.IsAbs(place) && !strings.HasPrefix(place, "~/") && !strings.HasPrefix(place, "${") && !strings.HasPrefix(place, "{{home}}/") {
			return &fault{key: "settings", problem: fmt.Sprintf("%.60q must be an absolute path, or begin with ~/, ${NAME} or {{home}}/", place)}
		}
	}
	return h.checkFormat()
}

func (h *Hooks) checkFormat() *fault {
	if f := oneOf("format", h.Format, HooksJSON, HooksYAML, HooksFiles); f != nil {
		return f
	}
	if h.Format != HooksFiles {
		var entry map[string]any
		switch err := json.Unmarshal([]byte(h.Entry), &entry); {
		case err != nil:
			return &fault{key: "entry", other: "format", problem: "is no JSON object"}
		case strings.Count(h.Entry, "{{command}}") != 1:
			return &fault{key: "entry", problem: "must have {{command}} once"}
		case len(h.Files) > 0:
			return &fault{key: "files", other: "format", problem: `has no effect but with format = "files"`}
		}
		return nil
	}
	if len(h.Files) == 0 {
		return &fault{key: "files", other: "format", problem: "is needed"}
	}
	for name := range h.Files {
		if !filepath.IsLocal(name) {
			return &fault{key: "files", problem: fmt.Sprintf("%.60q is no path below the folder", name)}
		}
		for _, place := range h.Settings {
			if !strings.Contains(place+"/"+name, OurFolder) {
				return &fault{key: "files", problem: fmt.Sprintf("%.60q: %s must be in its path, so that it is nobody else's", place+"/"+name, OurFolder)}
			}
		}
	}
	return nil
}
