package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// editJSON carries out a plan in a JSON text, with comments and trailing commas where the agent allows them.
//
// hujson's tree gives back every byte that is not touched, comments too; sjson edits in place as well, but knows no
// comments, which Gemini's settings have.
func editJSON(text []byte, p plan) ([]byte, error) {
	bom := []byte("\ufeff")
	body, hasBOM := bytes.CutPrefix(text, bom)
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}\n")
	}
	before, err := decode(body, "json")
	if err != nil {
		return nil, err
	}
	want, err := p.want(before, false)
	if err != nil {
		return nil, err
	}
	if text != nil && same(before, want) {
		return text, nil
	}
	root, err := hujson.Parse(body)
	if err != nil {
		return nil, err
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, errForm
	}
	if err := layoutOf(body, top).edit(top, p); err != nil {
		return nil, err
	}
	after := root.Pack()
	if got, err := decode(after, "json"); err != nil || !same(got, want) {
		return nil, errForm
	}
	if hasBOM {
		after = append(bom, after...)
	}
	return after, nil
}

// decode is a text as maps, lists and plain values.
func decode(text []byte, format string) (map[string]any, error) {
	if format == "yaml" {
		return decodeYAML(text)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	plain, err := hujson.Standardize(slices.Clone(text)) // which edits in place
	if err != nil {
		return nil, errors.New("it is no JSON")
	}
	var tree map[string]any
	if err := json.Unmarshal(plain, &tree); err != nil {
		return nil, errors.New("it is no JSON object")
	}
	return tree, nil
}

// layout is how a file is laid out, so that what is added looks like the rest.
type layout struct {
	newline string // "" where it is on one line
	unit    string
}

func layoutOf(text []byte, top *hujson.Object) layout {
	l := layout{newline: "\n", unit: "  "}
	if bytes.Contains(text, []byte("\r\n")) {
		l.newline = "\r\n"
	}
	if len(top.Members) == 0 {
		return l
	}
	first := string(top.Members[0].Name.BeforeExtra)
	if !strings.Contains(first, "\n") {
		return layout{}
	}
	if unit := first[strings.LastIndex(first, "\n")+1:]; unit != "" && strings.Trim(unit, " \t") == "" {
		l.unit = unit
	}
	return l
}

// start is what stands before a member at a depth.
func (l layout) start(depth int) hujson.Extra {
	if l.newline == "" {
		return nil
	}
	return hujson.Extra(l.newline + strings.Repeat(l.unit, depth))
}

func (l layout) edit(top *hujson.Object, p plan) error {
	hooks, found := member(top, "hooks")
	events, isObject := hooks.(*hujson.Object)
	switch {
	case found && !isObject:
		return errForm // null, which would not come back
	case !found:
		events = &hujson.Object{}
	case p.install:
		markEmpty(events)
		for _, event := range p.events {
			if list, there := member(events, event); there {
				markEmpty(list)
			}
		}
	}
	if err := l.takeOut(events, p); err != nil {
		return err
	}
	if p.install {
		if err := l.putIn(events, p); err != nil {
			return err
		}
	}
	if i := memberIndex(top, "hooks"); len(events.Members) > 0 {
		l.set(top, "hooks", events, 1)
	} else if i >= 0 && !stays(top.Members[i]) {
		l.drop(top, i)
	}
	return nil
}

// takeOut takes what is ours, or stale, out of every list, and the lists that are empty then.
func (l layout) takeOut(events *hujson.Object, p plan) error {
	for _, m := range slices.Clone(events.Members) {
		event := m.Name.Value.(hujson.Literal).String() //nolint:errcheck // names are literals, the parser sees to it
		list, isArray := m.Value.Value.(*hujson.Array)
		if !isArray || !p.clear(event, plain(list)) {
			continue
		}
		if err := l.strip(list, p); err != nil {
			return err
		}
		if wanted := p.install && slices.Contains(p.events, event); len(list.Elements) == 0 && !wanted && !stays(m) {
			l.drop(events, memberIndex(events, event))
		}
	}
	return nil
}

// putIn adds our entry to the list of every event that lacks it.
func (l layout) putIn(events *hujson.Object, p plan) error {
	for _, event := range p.events {
		value, found := member(events, event)
		list, isArray := value.(*hujson.Array)
		switch {
		case found && !isArray:
			return errForm // null
		case !found:
			list = &hujson.Array{}
		case p.state(plain(list)) == Installed:
			continue
		}
		l.add(list, "", l.value(p.entry, 3), 3)
		l.set(events, event, list, 2)
	}
	return nil
}

// strip takes what is ours out of a list.
func (l layout) strip(list *hujson.Array, p plan) error {
	for i, element := range slices.Backward(list.Elements) {
		_, found, empty := p.without(plain(element.Value))
		switch object, isObject := element.Value.(*hujson.Object); {
		case !found:
		case empty:
			if commented(element.Value) {
				return errForm // a person's remark would go with it
			}
			l.drop(list, i)
		case isObject: // a group in which a person has put other hooks beside ours
			for _, m := range object.Members {
				if inner, isArray := m.Value.Value.(*hujson.Array); isArray {
					if err := l.strip(inner, p); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// plain is a value as maps and lists; nil where it is none.
func plain(v hujson.ValueTrimmed) any {
	value := hujson.Value{Value: v}.Clone()
	value.Standardize()
	var out any
	if json.Unmarshal(value.Pack(), &out) != nil {
		return nil
	}
	return out
}

// value is a new value at a depth.
func (l layout) value(v any, depth int) hujson.ValueTrimmed {
	text, err := json.Marshal(v)
	if l.newline != "" {
		text, err = json.MarshalIndent(v, strings.Repeat(l.unit, depth), l.unit)
		text = bytes.ReplaceAll(text, []byte("\n"), []byte(l.newline))
	}
	if err != nil {
		panic(fmt.Sprintf("encode a hook: %v", err)) // it came out of JSON
	}
	parsed, err := hujson.Parse(text)
	if err != nil {
		panic(fmt.Sprintf("parse a hook: %v", err))
	}
	return parsed.Value
}

func memberIndex(o *hujson.Object, name string) int {
	for i, m := range slices.Backward(o.Members) { // of two the last one counts
		if literal, ok := m.Name.Value.(hujson.Literal); ok && literal.String() == name {
			return i
		}
	}
	return -1
}

func member(o *hujson.Object, name string) (hujson.ValueTrimmed, bool) {
	if i := memberIndex(o, name); i >= 0 {
		return o.Members[i].Value.Value, true
	}
	return nil, false
}

// set gives a member its value, and adds it where it is missing.
func (l layout) set(o *hujson.Object, name string, v hujson.ValueTrimmed, depth int) {
	if i := memberIndex(o, name); i >= 0 {
		o.Members[i].Value.Value = v
		return
	}
	l.add(o, name, v, depth)
}
