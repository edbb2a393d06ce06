package hooks

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"
)

// place is what stands around one member of an object or element of a list, and is not it.
type place struct{ before, after *hujson.Extra }

// around gives the places of a list's or an object's parts, and what stands behind the last.
func around(in hujson.ValueTrimmed) (parts []place, end *hujson.Extra) {
	switch in := in.(type) {
	case *hujson.Array:
		for i := range in.Elements {
			parts = append(parts, place{&in.Elements[i].BeforeExtra, &in.Elements[i].AfterExtra})
		}
		return parts, &in.AfterExtra
	case *hujson.Object:
		for i := range in.Members {
			parts = append(parts, place{&in.Members[i].Name.BeforeExtra, &in.Members[i].Value.AfterExtra})
		}
		return parts, &in.AfterExtra
	}
	return nil, nil
}

// add puts a part at the end of an object (under a name) or a list. drop is its inverse, byte for byte.
func (l layout) add(in hujson.ValueTrimmed, name string, v hujson.ValueTrimmed, depth int) {
	parts, end := around(in)
	before, after := l.start(depth), hujson.Extra(nil)
	if len(parts) > 0 && *parts[len(parts)-1].after != nil {
		after = hujson.Extra{} // hujson's way to say that the last part has a comma
	}
	if remark := bytes.TrimRight(*end, " \t\r\n"); len(remark) > 0 {
		// A comment behind the last part stays beside it.
		if l.newline == "" {
			before = hujson.Extra("\n")
		}
		before = slices.Concat(remark, before)
		*end = (*end)[len(remark):]
	} else if len(parts) == 0 {
		*end = l.start(depth - 1)
	}
	switch in := in.(type) {
	case *hujson.Array:
		in.Elements = append(in.Elements, hujson.Value{BeforeExtra: before, Value: v, AfterExtra: after})
	case *hujson.Object:
		space := hujson.Extra(" ")
		if l.newline == "" {
			space = nil
		}
		in.Members = append(in.Members, hujson.ObjectMember{
			Name:  hujson.Value{BeforeExtra: before, Value: hujson.String(name)},
			Value: hujson.Value{BeforeExtra: space, Value: v, AfterExtra: after},
		})
	}
}

// drop takes a part out. Comments around it stay.
func drop(in hujson.ValueTrimmed, i int) {
	parts, end := around(in)
	remarks := slices.Concat(bytes.TrimRight(*parts[i].before, " \t\r\n"), bytes.TrimRight(*parts[i].after, " \t\r\n"))
	comma := *parts[i].after != nil
	if i < len(parts)-1 {
		*parts[i+1].before = slices.Concat(remarks, *parts[i+1].before)
	} else {
		*end = slices.Concat(remarks, *end)
		if i > 0 {
			last := parts[i-1].after
			switch {
			case comma && *last == nil:
				*last = hujson.Extra{}
			case !comma && *last != nil:
				*end = slices.Concat(*last, *end)
				*last = nil
			}
		}
	}
	switch in := in.(type) {
	case *hujson.Array:
		in.Elements = slices.Delete(in.Elements, i, i+1)
	case *hujson.Object:
		in.Members = slices.Delete(in.Members, i, i+1)
	}
}
