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
		before, *end = slices.Concat(*end, before), l.start(depth-1)
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
func (l layout) drop(in hujson.ValueTrimmed, i int) {
	parts, end := around(in)
	remarks := slices.Concat(bytes.TrimRight(*parts[i].before, " \t\r\n"), bytes.TrimRight(*parts[i].after, " \t\r\n"))
	comma := *parts[i].after != nil
	switch {
	case i == 0 && len(parts) == 1 && len(remarks) == 0 && blankExtra(*end):
		*end = l.opening(*parts[0].before)
	case i == len(parts)-1:
		*end = joined(remarks, *end)
	case i == 0 && len(remarks) == 0 && blankExtra(*parts[1].before):
		*parts[1].before = *parts[0].before
	default:
		*parts[i+1].before = joined(remarks, *parts[i+1].before)
	}
	if i > 0 && i == len(parts)-1 {
		last := parts[i-1].after
		switch {
		case comma && *last == nil:
			*last = hujson.Extra{}
		case !comma && *last != nil:
			*end = slices.Concat(*last, *end)
			*last = nil
		}
	}
	switch in := in.(type) {
	case *hujson.Array:
		in.Elements = slices.Delete(in.Elements, i, i+1)
	case *hujson.Object:
		in.Members = slices.Delete(in.Members, i, i+1)
	}
}

// joined puts remarks before what follows, on another line where a remark would swallow it.
func joined(remarks, rest hujson.Extra) hujson.Extra {
	last := remarks[bytes.LastIndexByte(remarks, '\n')+1:]
	if bytes.Contains(last, []byte("//")) && !bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r"), []byte("\n")) {
		return slices.Concat(remarks, hujson.Extra("\n"), rest)
	}
	return slices.Concat(remarks, rest)
}

// opening is what stood in an empty list or object before add put a part in, out of what stands before that part.
func (l layout) opening(before hujson.Extra) hujson.Extra {
	if l.newline == "" {
		return before
	}
	if at := bytes.LastIndex(before, []byte(l.newline)); at > 0 {
		return before[:at]
	}
	return nil
}

// wasThere is a blank that markEmpty puts in.
const wasThere = " "

// markEmpty marks an empty list or object of a person's before ours comes into it: what is left when ours goes tells it
// from one that was added for ours. JSON has no room for a word, so it is a blank behind the brace. An agent that writes
// the file anew loses it, and then the empty list goes with ours.
func markEmpty(in hujson.ValueTrimmed) {
	if parts, end := around(in); len(parts) == 0 && end != nil && blankExtra(*end) {
		*end = slices.Concat(hujson.Extra(wasThere), *end)
	}
}

// stays tells whether a member that ours have emptied is a person's, or holds a comment, and takes the mark off.
func stays(m hujson.ObjectMember) bool {
	_, end := around(m.Value.Value)
	if !blankExtra(*end) {
		return true
	}
	rest, marked := bytes.CutPrefix(*end, []byte(wasThere))
	*end = rest
	return marked || !blankExtra(m.Name.AfterExtra) || !blankExtra(m.Value.BeforeExtra)
}

// blankExtra tells whether there is no comment in what stands between two values.
func blankExtra(e hujson.Extra) bool { return len(bytes.TrimSpace(e)) == 0 }

// commented tells whether there is a comment inside a value.
func commented(v hujson.ValueTrimmed) bool {
	root := hujson.Value{Value: v}
	for inner := range root.All() {
		_, end := around(inner.Value)
		if !blankExtra(inner.BeforeExtra) || !blankExtra(inner.AfterExtra) || end != nil && !blankExtra(*end) {
			return true
		}
	}
	return false
}
