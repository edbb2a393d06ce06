package hooks

import (
	"errors"
	"maps"
	"reflect"
	"slices"
)

// plan is what settings are to hold, whatever their format.
type plan struct {
	events  []string
	entry   any                              // ours, in the list of each event
	ours    func(object map[string]any) bool // tells a hook of ours
	install bool
}

// errForm is a form of settings that is not edited: something in it would be lost, or mean something else.
var errForm = errors.New("its form cannot be kept: add or remove the hooks by hand, as --print shows them")

// without is a value with nothing of ours in it: first whether there was any, then whether nothing else is left.
func (p plan) without(v any) (rest any, found, empty bool) {
	switch v := v.(type) {
	case map[string]any:
		if p.ours(v) {
			return nil, true, true
		}
		kept := map[string]any{}
		hollow := false // a list of it held ours alone: a group of hooks without hooks
		for name, member := range v {
			left, some, none := p.without(member)
			if some {
				found, hollow = true, hollow || none
			}
			if !some || !none {
				kept[name] = left
			}
		}
		return kept, found, found && hollow
	case []any:
		kept := []any{}
		for _, element := range v {
			left, some, none := p.without(element)
			found = found || some
			if !some || !none {
				kept = append(kept, left)
			}
		}
		return kept, found, found && len(kept) == 0
	}
	return v, false, false
}

// state is how our hook stands in the list of an event.
func (p plan) state(list any) State {
	elements, _ := list.([]any)
	exact, others := 0, 0
	for _, element := range elements {
		if _, found, _ := p.without(element); !found {
			continue
		}
		if reflect.DeepEqual(element, p.entry) {
			exact++
		} else {
			others++
		}
	}
	switch {
	case exact == 1 && others == 0:
		return Installed
	case exact+others > 0:
		return Stale
	}
	return Missing
}

// clear tells whether an event's list has to lose what is ours: all of it, or what is stale.
func (p plan) clear(event string, list any) bool {
	if !p.install || !slices.Contains(p.events, event) {
		return p.state(list) != Missing
	}
	return p.state(list) == Stale
}

// want is the settings after the plan; front puts ours before what is there.
func (p plan) want(tree map[string]any, front bool) (map[string]any, error) {
	tree = maps.Clone(tree)
	if tree == nil {
		tree = map[string]any{}
	}
	events, isTable := tree["hooks"].(map[string]any)
	if tree["hooks"] != nil && !isTable {
		if !p.install {
			return tree, nil // of another form: nothing of ours is in it
		}
		return nil, errors.New("its hooks are no table of events")
	}
	events = maps.Clone(events)
	if events == nil {
		events = map[string]any{}
	}
	for event, list := range events {
		if p.clear(event, list) {
			events[event], _, _ = p.without(list)
		}
	}
	tree["hooks"] = events
	if !p.install {
		return tree, nil
	}
	for _, event := range p.events {
		list, isList := events[event].([]any)
		if events[event] != nil && !isList {
			return nil, errors.New("its hooks." + event + " is no list")
		}
		switch {
		case p.state(list) == Installed:
		case front:
			events[event] = append([]any{p.entry}, list...)
		default:
			events[event] = append(slices.Clone(list), p.entry)
		}
	}
	return tree, nil
}

// same compares settings, where no hooks are as good as empty ones.
func same(a, b map[string]any) bool { return reflect.DeepEqual(withoutEmpty(a), withoutEmpty(b)) }

func withoutEmpty(tree map[string]any) map[string]any {
	if tree = maps.Clone(tree); tree == nil {
		tree = map[string]any{}
	}
	events, isTable := tree["hooks"].(map[string]any)
	if !isTable && tree["hooks"] != nil {
		return tree
	}
	events = maps.Clone(events)
	maps.DeleteFunc(events, func(_ string, list any) bool {
		elements, isList := list.([]any)
		return list == nil || isList && len(elements) == 0
	})
	if delete(tree, "hooks"); len(events) > 0 {
		tree["hooks"] = events
	}
	return tree
}
