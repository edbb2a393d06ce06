package config

import (
	"encoding"
	"fmt"
	"maps"
	"slices"
)

// set puts the raw value at path into the field that dst points to, where it has exactly the field's type: a number is
// not taken for a string, nor an integer for a duration of nanoseconds.
func (d *document) set(path []string, v, dst any) error {
	switch dst := dst.(type) {
	case *bool:
		return scalar(d, path, v, dst, "true or false")
	case *string:
		return scalar(d, path, v, dst, "a string")
	case *int:
		var n int64
		if err := scalar(d, path, v, &n, "an integer"); err != nil {
			return err
		}
		*dst = int(n)
		return nil
	case *Duration:
		return d.setText(path, v, dst, `a duration in quotes (as in "15m")`)
	case *Wait:
		return d.setText(path, v, dst, `a duration in quotes (as in "15m")`)
	case *Size:
		return d.setText(path, v, dst, `a size in quotes (as in "64MiB")`)
	case *Paths:
		if s, ok := v.(string); ok {
			*dst = Paths{s}
			return nil
		}
		return array(d, path, v, (*[]string)(dst), "a string or an array of strings")
	case *Profiles:
		return d.setProfiles(path, v, dst)
	case *Restart, *Limits:
		return d.fill(path, v, dst)
	case **Ready:
		*dst = (*dst).under(v)
		return d.fill(path, v, *dst)
	case **Health:
		*dst = (*dst).under(v)
		return d.fill(path, v, *dst)
	case **Hooks:
		hooks := Hooks{}
		if *dst != nil { // a preset's: the file's keys are set over them
			hooks = **dst
		}
		*dst = &hooks
		return d.fill(path, v, *dst)
	case **Wrap:
		wrap := Wrap{Positional: WrapOther}
		if *dst != nil { // a preset's: the file's keys are set over them
			wrap = **dst
		}
		*dst = &wrap
		return d.fill(path, v, *dst)
	case *[]string:
		return array(d, path, v, dst, "an array of strings")
	case *[]int:
		var codes []int64
		if err := array(d, path, v, &codes, "an array of integers"); err != nil {
			return err
		}
		*dst = make([]int, len(codes))
		for i, code := range codes {
			(*dst)[i] = int(code)
		}
		return nil
	case *map[string]string:
		return d.setTable(path, v, dst)
	default:
		return fmt.Errorf("set %v: no rule for %T", path, dst) // a field was added without one
	}
}

func scalar[T any](d *document, path []string, v any, dst *T, want string) error {
	got, ok := v.(T)
	if !ok {
		return d.fault(path, "must be "+want+", not "+kind(v), "")
	}
	*dst = got
	return nil
}

func array[T any](d *document, path []string, v any, dst *[]T, want string) error {
	elements, ok := v.([]any)
	if !ok {
		return d.fault(path, "must be "+want+", not "+kind(v), "")
	}
	*dst = make([]T, len(elements))
	for i, element := range elements {
		got, ok := element.(T)
		if !ok {
			return d.fault(path, fmt.Sprintf("must be %s, but element %d is %s", want, i+1, kind(element)), "")
		}
		(*dst)[i] = got
	}
	return nil
}

// setTable sets the entries of a table over those that are there already: a preset's others stay.
func (d *document) setTable(path []string, v any, dst *map[string]string) error {
	table, ok := v.(map[string]any)
	if !ok {
		return d.fault(path, "must be a table of strings, not "+kind(v), "")
	}
	merged := make(map[string]string, len(*dst)+len(table))
	maps.Copy(merged, *dst)
	*dst = merged
	for _, name := range d.names(path, table) {
		var s string
		if err := scalar(d, append(slices.Clone(path), name), table[name], &s, "a string"); err != nil {
			return err
		}
		(*dst)[name] = s
	}
	return nil
}

// setText sets a value that the file holds as a string of its own form.
func (d *document) setText(path []string, v any, dst encoding.TextUnmarshaler, want string) error {
	var s string
	if err := scalar(d, path, v, &s, want); err != nil {
		return err
	}
	if err := dst.UnmarshalText([]byte(s)); err != nil {
		return d.fault(path, err.Error(), "")
	}
	return nil
}
