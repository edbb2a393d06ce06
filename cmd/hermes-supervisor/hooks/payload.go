package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// MaxPayload bounds what is read of an event, in bytes. An answer or the output of a tool in it can be longer than that,
// and what stands before the bound still counts.
const MaxPayload = 1 << 20

var (
	// ErrLate is an event that was not whole in time.
	ErrLate = errors.New("the event did not come in time")
	// ErrPayload is what cannot be an event.
	ErrPayload = errors.New("the event is no JSON object")
)

// Payload is what was found of the paths that were asked for. A value that is no string is not found.
type Payload map[string]string

// Read reads one JSON object and finds the values at the paths. It returns as soon as the object is whole, since an agent
// may keep the other end open, and when the time is over: then, as with an object that is cut or too long, it gives what
// it has found so far with an error. The reading goroutine may outlive it.
func Read(r io.Reader, within time.Duration, paths ...string) (Payload, error) {
	type found struct {
		path, value string
	}
	values := make(chan found)
	over := make(chan struct{})
	defer close(over)
	done := make(chan error, 1)
	go func() {
		err := scan(io.LimitReader(r, MaxPayload), paths, func(path, value string) {
			select {
			case values <- found{path, value}:
			case <-over:
			}
		})
		if err != nil {
			_, _ = io.Copy(io.Discard, r) // an agent whose pipe breaks while it writes may take that for its hook's failure
		}
		done <- err
	}()
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	p := Payload{}
	for {
		select {
		case v := <-values:
			p[v.path] = v.value
		case err := <-done:
			return p, err
		case <-timeout.C:
			return p, ErrLate
		}
	}
}

// scan goes once over the members of an object. It decodes those that lead to a path, and skips the others.
func scan(r io.Reader, paths []string, found func(path, value string)) error {
	dec := json.NewDecoder(r)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return ErrPayload
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return broken(err)
		}
		key, _ := t.(string) // the names of an object are strings, the decoder sees to it
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return broken(err)
		}
		for _, path := range paths {
			first, rest, _ := strings.Cut(path, ".")
			if first != key {
				continue
			}
			if text, ok := at(value, rest); ok {
				found(path, text)
			}
		}
	}
	if _, err := dec.Token(); err != nil {
		return broken(err)
	}
	return nil
}

// at is the string at a path below a value.
func at(value json.RawMessage, path string) (string, bool) {
	for path != "" {
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			return "", false
		}
		var key string
		key, path, _ = strings.Cut(path, ".")
		value = object[key]
	}
	if value = bytes.TrimSpace(value); len(value) == 0 || value[0] != '"' {
		return "", false
	}
	var text string
	err := json.Unmarshal(value, &text)
	return text, err == nil
}

// broken says why an object could not be read to its end, and nothing of what is in it.
func broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the event is cut, or longer than %d bytes", MaxPayload)
	}
	return ErrPayload
}
