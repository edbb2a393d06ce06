//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
)

// story is everything that is known of the session in which a rule was broken.
func (w *worker) story(rule string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "\nRULE BROKEN in session %s: %s\n", w.session, rule)
	if err := w.log.update(); err != nil {
		fmt.Fprintf(&s, "agents' log: %v\n", err)
	}
	names := map[string]bool{}
	for _, c := range w.calls {
		names[c.prompt.name] = true
	}
	for _, p := range w.all {
		if names[p.name] {
			fmt.Fprintf(&s, "prompt %s: id %t, receipt %t, interrupt ordered %t, end on disk at %d, %s\n", p.name, p.id, p.receipt, p.ordered, p.durable, p.how)
		}
	}
	s.WriteString("calls, in their order (storm's clock):\n")
	for _, c := range w.calls {
		fmt.Fprintf(&s, "  %v\n", c)
		text, _ := os.ReadFile(c.outputFile(w.place)) // for people: what is not there is not told
		for said := range strings.Lines(string(text)) {
			s.WriteString("    | " + strings.TrimRight(said, "\n") + "\n")
		}
	}
	s.WriteString("agents' log (kind, ns, pid, start, prompt, attempt, code):\n")
	told := false // what came before these prompts has ended well
	for _, l := range w.log.lines {
		if told = told || names[l.prompt]; told {
			s.WriteString("  " + l.text + "\n")
		}
	}
	if len(w.calls) > 0 {
		s.WriteString("journal:\n" + w.place.journal(w.session, w.calls[0].began))
	}
	if data, err := os.ReadFile(w.place.state("turns", w.session+".json")); err == nil {
		fmt.Fprintf(&s, "marker:\n%s", data)
	}
	if ended, err := w.place.ended(w.session); err == nil {
		fmt.Fprintf(&s, "in ended/: %v\n", ended)
	}
	return s.String()
}
