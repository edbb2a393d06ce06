package fsstate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// fieldNames are the JSON names of T's fields, each under what encoding/json folds it to.
func fieldNames[T any]() map[string]string {
	names := map[string]string{}
	for f := range reflect.TypeFor[T]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names[fold(name)] = name
		}
	}
	return names
}

// into decodes the fields that v knows by their exact names and returns the rest. encoding/json would take "PHASE" for
// "phase" and let the last one win, which would make a second, hidden value of every field; such a key is an error.
func (d Document) into(v any, known map[string]string) (Document, error) {
	ours, rest := make(Document, len(d)), Document{}
	for key, raw := range d {
		switch name, folds := known[fold(key)]; {
		case folds && name == key:
			ours[key] = raw
		case folds:
			return nil, fmt.Errorf("key %q differs from %q only in case", key, name)
		case key == versionKey || key == macKey:
		default:
			rest[key] = raw
		}
	}
	data, err := json.Marshal(ours)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, err
	}
	return rest, nil
}
