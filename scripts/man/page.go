package main

import (
	"fmt"
	"slices"
	"strings"
)

// pages are the pages of a program, by file name: one for the program with its topics, one for each command.
func pages(root command) map[string]string {
	all := map[string]string{}
	var add func(c command)
	add = func(c command) {
		if c.Hidden || c.Topic {
			return
		}
		all[pageName(c)+".1"] = page(root, c)
		for _, sub := range c.Commands {
			add(sub)
		}
	}
	add(root)
	return all
}

func pageName(c command) string { return strings.ReplaceAll(c.Path, " ", "-") }

// page is one page in the man macros of roff, see man(7).
func page(root, c command) string {
	var r roff
	r.title(pageName(c), "1")
	r.section("Name")
	r.line(escaped(pageName(c)) + ` \- ` + escaped(c.Short))
	r.section("Synopsis")
	r.line(".nf")
	if subs := visible(c.Commands); len(subs) > 0 {
		r.line(escaped(c.Path + " COMMAND …"))
	} else {
		r.line(escaped(c.Use))
	}
	r.line(".fi")
	r.section("Description")
	r.prose(first(c.Long, c.Short+"."))
	if subs := visible(c.Commands); len(subs) > 0 {
		r.section("Commands")
		for _, sub := range subs {
			r.entry(`\fB`+escaped(pageName(sub))+`\fR(1)`, sub.Short)
		}
	}
	r.options("Options", c.Flags)
	if c.Path != root.Path {
		r.options("Options of every command", slices.DeleteFunc(slices.Clone(root.Flags), func(o option) bool { return o.Name == "version" }))
	}
	if len(c.Examples) > 0 {
		r.section("Examples")
		r.verbatim(c.Examples)
	}
	if len(c.Exits) > 0 {
		r.section("Exit status")
		for _, e := range c.Exits {
			r.entry(`\fB`+escaped(e.Code)+`\fR`, e.Means)
		}
	}
	if c.Path == root.Path {
		for _, topic := range c.Commands {
			if topic.Topic {
				r.section(topic.Short)
				r.prose(topic.Long)
			}
		}
	}
	r.section("See also")
	see := []string{`\fBhermes-supervisor\fR(1)`, `\fBhermes.toml\fR(5)`}
	if c.Path == root.Path {
		see = see[1:]
	}
	r.line(strings.Join(see, ", "))
	return r.String()
}

func visible(commands []command) (some []command) {
	for _, c := range commands {
		if !c.Hidden && !c.Topic {
			some = append(some, c)
		}
	}
	return some
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// configPage is the page of the configuration: the example, whose comments say what each key is.
func configPage(example string) string {
	var r roff
	r.title("hermes.toml", "5")
	r.section("Name")
	r.line(`hermes.toml \- configuration of hermes\-supervisor`)
	r.section("Description")
	r.prose(`The file is hermes-supervisor/hermes.toml in your configuration folder, or what -c or $HERMES_SUPERVISOR_CONFIG names. ` +
		`hermes-supervisor check says what it means, with every default. This is an example of all keys; the comments say what they are.`)
	r.section("Example")
	r.verbatim(strings.Split(strings.TrimRight(example, "\n"), "\n"))
	r.section("See also")
	r.line(`\fBhermes-supervisor\fR(1), \fBhermes-supervisor-check\fR(1)`)
	return r.String()
}

// roff is a page being written.
type roff struct{ strings.Builder }

func (r *roff) line(text string) { _, _ = r.WriteString(text + "\n") }

func (r *roff) title(name, section string) {
	r.line(`.\" written by scripts/man`)
	fmt.Fprintf(r, ".TH \"%s\" \"%s\" \"\" \"hermes\\-supervisor\" \"\"\n", strings.ToUpper(escaped(name)), section)
	r.line(".nh")
	r.line(".ad l")
}

func (r *roff) section(name string) { r.line(`.SH "` + strings.ToUpper(escaped(name)) + `"`) }

// entry is a term and what is said of it.
func (r *roff) entry(term, text string) {
	r.line(".TP")
	r.line(term)
	r.line(escaped(text))
}

func (r *roff) options(title string, options []option) {
	if len(options) == 0 {
		return
	}
	r.section(title)
	for _, o := range options {
		term := `\fB` + escaped("--"+o.Name) + `\fR`
		if o.Shorthand != "" {
			term = `\fB` + escaped("-"+o.Shorthand) + `\fR, ` + term
		}
		if o.Value != "" {
			term += ` \fI` + escaped(o.Value) + `\fR`
		}
		text := o.Usage
		if o.Default != "" && !strings.Contains(text, "(default") {
			text += " (default " + o.Default + ")"
		}
		r.entry(term, text)
	}
}

// prose is text in paragraphs; what is indented stays as it is.
func (r *roff) prose(text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			r.line(".PP")
		}
		asIs := false
		for line := range strings.SplitSeq(paragraph, "\n") {
			if indented := strings.HasPrefix(line, " "); indented != asIs {
				asIs = indented
				r.line(map[bool]string{true: ".nf", false: ".fi"}[asIs])
			}
			r.line(escaped(line))
		}
		if asIs {
			r.line(".fi")
		}
	}
}

func (r *roff) verbatim(lines []string) {
	r.line(".nf")
	for _, line := range lines {
		r.line(escaped(line))
	}
	r.line(".fi")
}

// escaped is text in which roff finds no request and no escape of its own.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
