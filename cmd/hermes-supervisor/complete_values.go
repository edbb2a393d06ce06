package main

import (
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"hermes-supervisor/cmd/hermes-supervisor/agents"
	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/hermes"
)

// A terminal is no place for more names, or for longer ones.
const (
	maxCandidates = 500
	maxCandidate  = 1000 // bytes
)

// freeText are the placeholders of values that nobody can guess. completion knows every other one, so that a new word in a
// Use line or a flag's help is a word that somebody has thought about: a test holds that.
var freeText = []string{"TEXT", "PID", "CODE", "USER", "CLAIM", "NAME", "COUNT", "COMMAND-LINE", "BYTES", "string", "duration", "int", "float", "count", "DURATION", "", "N"}

// values are the candidates for a placeholder. prefix stands before each of them in the word ("--agent=").
func (c *completion) values(cmd *cobra.Command, kind, prefix, begins string) (offer string, found []candidate) {
	switch kind {
	case "FILE", "F":
		return offerFiles, nil
	case "FOLDER", "DIR":
		return offerFolders, nil
	}
	return offerWords, only(c.names(cmd, kind, begins), prefix, begins)
}

func (c *completion) names(cmd *cobra.Command, kind, begins string) []candidate {
	switch kind {
	case "KEY", "SESSION":
		return named(c.sessions(cmd.Name() == "resume", false))
	case "ID", "ID|SESSION":
		return named(c.sessions(false, true))
	case "NAME[@PROFILE]", "SERVICE":
		return named(c.services(begins))
	case "PROFILE":
		return named(c.profiles())
	case "AGENT":
		return named(c.agents(strings.Contains(cmd.CommandPath(), " hook")))
	case "PLATFORM":
		cfg, _, _ := c.app.loadConfig()
		return named(slices.Collect(maps.Keys(cfg.Handoff.Platforms)))
	case "SIGNAL":
		return named(slices.Collect(maps.Keys(signalNames)))
	case "SHELL":
		return named(shells)
	case "COMMAND":
		topic, _, err := c.root.Find(cmd.Flags().Args())
		if err != nil {
			return nil
		}
		return topics(topic)
	}
	if strings.Contains(kind, "|") { // the help has all there are
		return named(strings.Split(kind, "|"))
	}
	return nil
}

// topics are the commands and topics that help knows below one.
func topics(below *cobra.Command) (found []candidate) {
	for _, sub := range below.Commands() {
		if !sub.Hidden {
			found = append(found, candidate{sub.Name(), sub.Short})
		}
	}
	return found
}

func named(names []string) []candidate {
	found := make([]candidate, 0, len(names))
	for _, name := range names {
		found = append(found, candidate{text: name})
	}
	return found
}

// only are the candidates that the word may become, in order, each once. Of too many it keeps the first and the last: what
// these have in common, all have, and no more is what a shell adds to the word.
func only(all []candidate, prefix, begins string) []candidate {
	found := slices.DeleteFunc(all, func(one candidate) bool {
		return !strings.HasPrefix(one.text, begins) || one.text == "" || len(one.text) > maxCandidate || strings.ContainsRune(one.text, 0)
	})
	slices.SortFunc(found, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
	found = slices.CompactFunc(found, func(a, b candidate) bool { return a.text == b.text })
	if len(found) > maxCandidates {
		found = append(found[:maxCandidates-1], found[len(found)-1])
	}
	for i := range found {
		found[i].text = prefix + found[i].text
	}
	return found
}

// homes are the home in force and its profiles.
func (c *completion) homes() []fsstate.Home {
	home, err := c.app.resolveHome()
	if err != nil {
		return nil
	}
	return homesBelow(home)
}

func (c *completion) profiles() (names []string) {
	for _, home := range c.homes() {
		if home.Profile != "" {
			names = append(names, home.Profile)
		}
	}
	return append(names, config.RootProfile)
}

// sessions are the keys of open turns, of ours and Hermes's, and as asked of turns that were given up or the ids and keys of
// handoffs. Nobody's life is judged: a key is all that is read, and most are the names of their files.
func (c *completion) sessions(ended, handoffs bool) (keys []string) {
	for _, home := range c.homes() {
		store, err := fsstate.OpenRead(home)
		if err == nil {
			switch {
			case handoffs:
				files := fsstate.HandoffFiles{Store: store}
				open, _ := files.Open()
				old, _ := files.Ended()
				keys = slices.Concat(keys, open, old, c.keysIn(store, fsstate.Handoffs), c.keysIn(store, fsstate.Handed))
			case ended:
				keys = append(keys, c.keysIn(store, fsstate.Ended)...)
				fallthrough
			default:
				keys = append(keys, c.keysIn(store, fsstate.Turns)...)
			}
			_ = store.Close()
		}
		if handoffs {
			continue
		}
		markers, _ := hermes.ReadMarkers(home.Path)
		for _, m := range markers {
			keys = append(keys, m.Session)
		}
	}
	return keys
}

// keysIn are the session keys of the records in a folder, as far as time allows.
func (c *completion) keysIn(store *fsstate.Store, folder fsstate.Folder) []string {
	files, err := store.List(folder)
	if err != nil {
		return nil
	}
	keys := make([]string, len(files))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				keys[i] = c.keyOf(store, folder, files[i])
			}
		})
	}
	readers.Wait()
	return keys
}

// keyOf is the session key of one record: the file's own name, where that is a key, else what it says.
func (c *completion) keyOf(store *fsstate.Store, folder fsstate.Folder, file string) string {
	name, is := strings.CutSuffix(file, ".json")
	if is && folder == fsstate.Turns && fsstate.PlainName(name) {
		return name
	}
	if !is || time.Now().After(c.until) {
		return ""
	}
	data, _, err := store.Read(folder, file)
	if err != nil {
		return ""
	}
	var record struct {
		Session string `json:"session"`
	}
	if json.Unmarshal(data, &record) != nil || folder == fsstate.Turns && fsstate.Name(record.Session) != name {
		return ""
	}
	return record.Session
}

// services are those that are configured, or were ever run; behind an @ with the profiles.
func (c *completion) services(begins string) (names []string) {
	cfg, _, _ := c.app.loadConfig()
	for _, s := range cfg.Services {
		names = append(names, s.Name)
	}
	for _, home := range c.homes() {
		store, err := fsstate.OpenRead(home)
		if err != nil {
			continue
		}
		files, _ := store.List(fsstate.Services)
		for _, file := range files {
			if name, is := strings.CutSuffix(file, ".json"); is && fsstate.PlainName(name) {
				names = append(names, name)
			}
		}
		_ = store.Close()
	}
	name, _, asked := strings.Cut(begins, "@")
	if !asked || !slices.Contains(names, name) {
		return names
	}
	var at []string
	for _, profile := range c.profiles() {
		at = append(at, name+"@"+profile)
	}
	return at
}

// agents are the names that --agent and hermes.toml know; for a hook those whose hooks are known.
func (c *completion) agents(hooks bool) []string {
	cfg, _, _ := c.app.loadConfig()
	if hooks {
		return withHooks(cfg)
	}
	return append(agents.Names(), slices.Collect(maps.Keys(cfg.Agents))...)
}
