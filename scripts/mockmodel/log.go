package mockmodel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Request is one request as the server saw it. The times are of one clock, so those of two requests can be compared.
type Request struct {
	N         int      `json:"n"`               // 1 for the first turn's request of this server, and for the first beside a turn
	API       string   `json:"api,omitempty"`   // the wire format: "responses", "messages", "gemini", "completions"
	Agent     string   `json:"agent,omitempty"` // which agent asks, where it says so: "claude", "codex", …
	UserAgent string   `json:"user_agent,omitempty"`
	Method    string   `json:"method"`
	Path      string   `json:"path"`
	Remote    string   `json:"remote"` // the peer's address: one process, or one connection of it
	Model     string   `json:"model,omitempty"`
	Tools     []string `json:"tools,omitempty"` // the names of those that the model may call
	Inputs    []Input  `json:"inputs"`          // everything the model was told, in order
	Answer    Answer   `json:"answer"`          // what the script had for it
	State     State    `json:"state"`           // how far it has come
	Error     string   `json:"error,omitempty"` // why a request was not understood

	Start   time.Time `json:"start"`            // the request's head was read
	End     time.Time `json:"end,omitzero"`     // the last byte was written, or the peer was found gone; zero while it is open
	Aborted time.Time `json:"aborted,omitzero"` // the peer went away before the end
	Stalled time.Time `json:"stalled,omitzero"` // the first half was written and the stall began
}

// An Input is one text that the model was told.
type Input struct {
	Role string `json:"role"` // "instructions", "user", "assistant", "tool"; the item's type where it has no role
	Text string `json:"text"`
}

// A State is how far an answer has come.
type State int

// The states of a request. Only the first two are open.
const (
	Streaming State = iota // the answer is being written
	Stalling               // the first half is written, the rest waits for Release
	Completed              // the whole answer was written
	WasCut                 // the server closed the connection in mid-answer
	Refused                // an error status was answered
	PeerGone               // the peer went away before the end
)

// String names the state.
func (s State) String() string {
	names := [...]string{"streaming", "stalling", "completed", "cut", "refused", "peer gone"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return names[s]
}

// MarshalText is the name of the state, so that a log is readable.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Open reports whether the peer may still be reading the answer.
func (r Request) Open() bool { return r.End.IsZero() }

// Holds reports whether any text of the request contains part.
func (r Request) Holds(part string) bool {
	return slices.ContainsFunc(r.Inputs, func(in Input) bool { return strings.Contains(in.Text, part) })
}

// LastUser is the last text that the model was told by the user, "" when there is none. What an agent was given on the
// command line is such a text by itself; what it adds of its own stands before it.
func (r Request) LastUser() string {
	for _, input := range slices.Backward(r.Inputs) {
		if input.Role == "user" {
			return input.Text
		}
	}
	return ""
}

// Offers reports whether the model may call the tool.
func (r Request) Offers(tool string) bool { return slices.Contains(r.Tools, tool) }

// Overlapping returns the pairs of requests that were open at the same time: each is a proof of two agents at work,
// where one agent asks one thing at a time.
func Overlapping(requests []Request) [][2]Request {
	var pairs [][2]Request
	for i, a := range requests {
		for _, b := range requests[i+1:] {
			first, second := a, b
			if second.Start.Before(first.Start) {
				first, second = second, first
			}
			if first.Open() || second.Start.Before(first.End) {
				pairs = append(pairs, [2]Request{first, second})
			}
		}
	}
	return pairs
}

// Requests returns a copy of the log: every request that is part of a turn, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return snapshot(s.requests)
}

// Strays returns the requests that no wire format answers, such as an agent's search for updates: each was answered 404.
func (s *Server) Strays() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.strays)
}

// Wait returns once the log fulfils cond, which is asked again after every change of it. The error, when ctx ends first,
// says what was waited for and what the log holds.
func (s *Server) Wait(ctx context.Context, what string, cond func([]Request) bool) error {
	for {
		s.mu.Lock()
		requests, changed := snapshot(s.requests), s.changed
		s.mu.Unlock()
		if cond(requests) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s at the mock model (%s): %w", what, Brief(requests), context.Cause(ctx))
		}
	}
}

// Brief is the log in one line for people.
func Brief(requests []Request) string {
	if len(requests) == 0 {
		return "no requests"
	}
	states := make([]string, 0, len(requests))
	for _, r := range requests {
		states = append(states, fmt.Sprintf("request %d %s", r.N, r.State))
	}
	return strings.Join(states, ", ")
}

func snapshot(log []*Request) []Request {
	requests := make([]Request, 0, len(log))
	for _, r := range log {
		copied := *r
		copied.Inputs, copied.Tools = slices.Clone(r.Inputs), slices.Clone(r.Tools)
		requests = append(requests, copied)
	}
	return requests
}

// update changes one request of the log and wakes those who wait for it.
func (s *Server) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}
