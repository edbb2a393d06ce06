//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A marker is what the storm reads of a turn's record, in turns/ or ended/.
type marker struct {
	Session  string `json:"session"`
	Phase    string `json:"phase"`
	Prompt   string `json:"prompt"`
	Attempts int    `json:"attempts"`
	End      struct {
		Code int `json:"code"`
	} `json:"end"`
	Ended *struct {
		Reason string `json:"reason"`
	} `json:"ended"`
}

// The phases of a marker.
const (
	phaseIntended  = "intended"
	phaseRunning   = "running"
	phaseStopping  = "stopping"
	phaseConcluded = "concluded"
)

// prompt is the name of the prompt that the record holds.
func (m *marker) prompt() string {
	if m == nil {
		return ""
	}
	return cast{}.understand(m.Prompt)
}

// An outcome is what --outcome says.
type outcome struct {
	State    string `json:"state"`
	Reason   string `json:"reason"`
	Detail   string `json:"detail"`
	Code     int    `json:"exit_code"`
	Replayed bool   `json:"replayed"`
}

// readJSON reads a file that may be missing: false then.
func readJSON(path string, into any) (bool, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	return true, nil
}

// marker is the open turn of a session, nil where there is none. The names of sessions here are those of their files.
func (p place) marker(session string) (*marker, error) {
	m := &marker{}
	found, err := readJSON(p.state("turns", session+".json"), m)
	if !found {
		return nil, err
	}
	return m, nil
}

// ended are the reasons for which prompts of a session went to ended/, by their names.
func (p place) ended(session string) (map[string]string, error) {
	files, err := filepath.Glob(p.state("ended", session+"-*.json"))
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	for _, file := range files {
		m := &marker{}
		if _, err := readJSON(file, m); err != nil {
			return nil, err
		}
		if m.Ended != nil {
			reasons[m.prompt()] = m.Ended.Reason
		}
	}
	return reasons, nil
}

// journal are the lines about a session since a time.
func (p place) journal(session string, since time.Time) string {
	var told strings.Builder
	for _, file := range []string{"journal.old.jsonl", "journal.jsonl"} {
		data, _ := os.ReadFile(p.state(file)) // for people: what is not there is not told
		for text := range strings.Lines(string(data)) {
			var entry struct {
				Time    time.Time `json:"time"`
				Session string    `json:"session"`
			}
			if json.Unmarshal([]byte(text), &entry) == nil && entry.Session == session && !entry.Time.Before(since.Truncate(time.Millisecond)) {
				told.WriteString("  " + text)
			}
		}
	}
	return told.String()
}
