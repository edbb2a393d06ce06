package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// mark stands behind a key that was added for our hooks, so that it goes with them.
const mark = "# hermes-supervisor"

// was stands behind the mark where the key had an empty value, which comes back.
const was = ", was "

// editYAML carries out a plan in a YAML text.
//
// No library writes a YAML file back as it was: indentation, blank lines and long strings change. So the tree only tells
// where things stand, lines are put in and taken out there, and what comes of it is parsed and compared with what is
// wanted. A form that this cannot do (a table in braces, an anchor in the way) is left alone.
func editYAML(text []byte, p plan) ([]byte, error) {
	before, err := decodeYAML(text)
	if err != nil {
		return nil, err
	}
	want, err := p.want(before, true)
	if err != nil {
		return nil, err
	}
	if same(before, want) {
		return text, nil
	}
	if strings.ContainsAny(strings.ReplaceAll(string(text), "\r\n", "\n"), "\r\u0085\u2028\u2029") {
		return nil, errForm // the parser counts these as ends of lines, editors do not
	}
	f := yamlFile{lines: slices.Collect(strings.Lines(string(text))), newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		f.newline = "\r\n"
	}
	// One line range at a time, each found in a fresh tree: every change moves what stands below it.
	for range maxYAMLEdits {
		done, err := f.step(p)
		if err != nil {
			return nil, err
		}
		if done {
			break // if it never is, what came of it is refused below
		}
	}
	after := []byte(strings.Join(f.lines, ""))
	if got, err := decodeYAML(after); err != nil || !same(got, want) {
		return nil, errForm
	}
	return after, nil
}

// maxYAMLEdits is beyond what any file needs: an entry and a key for each event, in and out.
const maxYAMLEdits = 200

func decodeYAML(text []byte) (map[string]any, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var tree map[string]any
	if err := dec.Decode(&tree); err != nil && !errors.Is(err, io.EOF) { // a file of comments alone has no document
		return nil, errors.New("it is no YAML table")
	}
	var more any
	if err := dec.Decode(&more); err == nil {
		return nil, errors.New("it has more than one document")
	}
	// Through JSON, as the plan's own entry came: numbers are then of one type.
	plain, err := json.Marshal(tree)
	if err != nil {
		return nil, errors.New("it has keys that are no strings")
	}
	tree = nil
	err = json.Unmarshal(plain, &tree)
	return tree, err
}

type yamlFile struct {
	lines   []string
	newline string
}

// step makes the first change that the plan still asks for.
func (f *yamlFile) step(p plan) (done bool, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(strings.Join(f.lines, "")), &doc); err != nil {
		return false, errForm
	}
	var top *yaml.Node
	if len(doc.Content) > 0 {
		top = doc.Content[0]
		if !blockTable(top) && !blank(top) {
			return false, errForm
		}
	}
	key, events := yamlMember(top, "hooks")
	if key != nil && !blockTable(events) && !blank(events) {
		return false, errForm
	}
	for _, event := range slices.Sorted(maps.Keys(yamlKeys(events))) {
		name, list := yamlMember(events, event)
		if p.clear(event, nodeValue(list)) {
			return false, f.takeOut(list, p)
		}
		if strings.Contains(f.line(name), mark) && len(list.Content) == 0 {
			f.unmark(name)
			return false, nil
		}
	}
	for _, event := range p.events {
		_, list := yamlMember(events, event)
		if p.install && p.state(nodeValue(list)) == Missing {
			return false, f.putIn(top, event, p)
		}
	}
	if key != nil && strings.Contains(f.line(key), mark) && len(events.Content) == 0 {
		f.unmark(key)
		return false, nil
	}
	return true, nil
}

// putIn adds our entry to an event's list, and the keys above it where they are missing.
func (f *yamlFile) putIn(top *yaml.Node, event string, p plan) error {
	indent := 0
	if top != nil && len(top.Content) > 0 {
		indent = top.Column - 1
	}
	key, events := yamlMember(top, "hooks")
	if key == nil {
		f.insert(len(f.lines), indent, "hooks: "+mark)
		return nil
	}
	name, list := yamlMember(events, event)
	if name == nil {
		inner := indent + 2
		if len(events.Content) > 0 {
			inner = events.Content[0].Column - 1
		}
		if err := f.open(events, key, "{}"); err != nil {
			return err
		}
		text, err := yaml.Marshal(event)
		if err != nil {
			return err
		}
		f.insert(key.Line, inner, strings.TrimSpace(string(text))+": "+mark, f.item(p, 2)...)
		return nil
	}
	dash := name.Column + 1
	if len(list.Content) > 0 {
		if list.Kind != yaml.SequenceNode || list.Style&yaml.FlowStyle != 0 {
			return errForm
		}
		dash = list.Column - 1
	}
	if err := f.open(list, name, "[]"); err != nil {
		return err
	}
	f.insert(name.Line, 0, "", f.item(p, dash)...)
	return nil
}

// open makes room below a key whose value is empty.
func (f *yamlFile) open(value, key *yaml.Node, empty string) error {
	if len(value.Content) > 0 || value.Kind == yaml.ScalarNode && value.Value == "" {
		return nil
	}
	if value.Kind == yaml.ScalarNode {
		empty = value.Value // null or ~
	}
	line := f.lines[key.Line-1]
	at := value.Column - 1
	if value.Line != key.Line || at > len(line) || !strings.HasPrefix(line[at:], empty) {
		return errForm
	}
	f.lines[key.Line-1] = line[:at] + mark + was + empty + line[at+len(empty):]
	return nil
}

// unmark undoes what was done to a key for our entries.
func (f *yamlFile) unmark(key *yaml.Node) {
	line := f.lines[key.Line-1]
	if before, after, found := strings.Cut(line, mark+was); found {
		f.lines[key.Line-1] = before + after
		return
	}
	f.lines = slices.Delete(f.lines, key.Line-1, key.Line)
}

// takeOut removes the first entry of a list that is ours.
func (f *yamlFile) takeOut(list *yaml.Node, p plan) error {
	for _, element := range list.Content {
		_, found, empty := p.without(nodeValue(element))
		if !found {
			continue
		}
		if !empty || list.Style&yaml.FlowStyle != 0 {
			return errForm // other things stand in it
		}
		dash := list.Column - 1
		first := element.Line - 1
		if at := len(f.lines[first]) - len(strings.TrimLeft(f.lines[first], " ")); at != dash || f.lines[first][at] != '-' {
			return errForm
		}
		next := first + 1
		for last := next; last < len(f.lines); last++ {
			text := strings.TrimLeft(f.lines[last], " ")
			if strings.TrimSpace(text) == "" || text[0] == '#' {
				continue // belongs to the entry only if more of the entry follows
			}
			if len(f.lines[last])-len(text) <= dash {
				break
			}
			next = last + 1
		}
		var entry yaml.Node
		if yaml.Unmarshal([]byte(strings.Join(f.lines[first:next], "")), &entry) != nil || yamlCommented(&entry) {
			return errForm // a person's remark would go with it
		}
		f.lines = slices.Delete(f.lines, first, next)
		return nil
	}
	return errForm
}

// item is our entry as an element of a list, its dash in column dash.
func (f *yamlFile) item(p plan, dash int) []string {
	var text bytes.Buffer
	enc := yaml.NewEncoder(&text)
	enc.SetIndent(2)
	if err := enc.Encode(p.entry); err != nil {
		panic(fmt.Sprintf("encode a hook: %v", err)) // it came out of JSON
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	for i := range lines {
		lead := "  "
		if i == 0 {
			lead = "- "
		}
		lines[i] = strings.Repeat(" ", dash) + lead + lines[i]
	}
	return lines
}

// insert puts lines before the line at an index; the first is indented, and so are the others by as much.
func (f *yamlFile) insert(at, indent int, first string, more ...string) {
	var lines []string
	if first != "" {
		lines = append(lines, strings.Repeat(" ", indent)+first+f.newline)
	}
	for _, line := range more {
		lines = append(lines, strings.Repeat(" ", indent)+line+f.newline)
	}
	if at > 0 && !strings.HasSuffix(f.lines[at-1], "\n") {
		f.lines[at-1] += f.newline
	}
	f.lines = slices.Insert(f.lines, at, lines...)
}

func (f *yamlFile) line(n *yaml.Node) string { return f.lines[n.Line-1] }

// blockTable is a table that is laid out by lines.
func blockTable(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0 && n.Anchor == ""
}

// blank is nothing, null, {} or [].
func blank(n *yaml.Node) bool {
	return n == nil || n.Anchor == "" && (n.Tag == "!!null" || len(n.Content) == 0 && n.Kind != yaml.ScalarNode && n.Kind != yaml.AliasNode)
}

// yamlCommented tells whether there is a comment in a node.
func yamlCommented(n *yaml.Node) bool {
	return n.HeadComment+n.LineComment+n.FootComment != "" || slices.ContainsFunc(n.Content, yamlCommented)
}

func yamlMember(table *yaml.Node, name string) (key, value *yaml.Node) {
	if table == nil || table.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(table.Content); i += 2 {
		if table.Content[i].Value == name {
			return table.Content[i], table.Content[i+1]
		}
	}
	return nil, nil
}

func yamlKeys(table *yaml.Node) map[string]bool {
	keys := map[string]bool{}
	if table != nil && table.Kind == yaml.MappingNode {
		for i := 0; i < len(table.Content); i += 2 {
			keys[table.Content[i].Value] = true
		}
	}
	return keys
}

// nodeValue is a node as maps and lists; nil where it cannot be one.
func nodeValue(n *yaml.Node) any {
	if n == nil {
		return nil
	}
	var v any
	if n.Decode(&v) != nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil || json.Unmarshal(text, &v) != nil {
		return nil
	}
	return v
}
