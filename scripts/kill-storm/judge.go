//go:build linux

package main

import "fmt"

// judge holds what the agents of a session wrote against the rules, and says which one is broken, "" for none. The
// prompts are all that were given in the session. An agent may come to its first line after the order that stops it was
// seen on disk, if it had been launched before.
func judge(lines []line, prompts []*prompt) (rule string) {
	byName := map[string]*prompt{}
	for _, p := range prompts {
		byName[p.name] = p
	}
	type run struct{ starts, attempt int }
	runs := map[string]*run{}
	var lastEnd int64
	for _, l := range lines {
		switch l.kind {
		case lineOverlap:
			return fmt.Sprintf("two runs overlap: pid %d has begun, and something of an earlier run lives", l.who.pid)
		case lineWrong:
			return fmt.Sprintf("the agent with pid %d, attempt %d, was not given its prompt", l.who.pid, l.attempt)
		case lineEnd:
			lastEnd = l.at
		case lineStart:
			p, r := byName[l.prompt], runs[l.prompt]
			if r == nil {
				r = &run{attempt: -1}
				runs[l.prompt] = r
			}
			r.starts++
			switch {
			case p == nil:
				return fmt.Sprintf("prompt %s has started in a session in which nobody gave it", l.prompt)
			case p.durable != 0 && l.at > p.durable && (l.attempt != p.launched || l.attempt <= r.attempt):
				return fmt.Sprintf("prompt %s has started, attempt %d, %.1f ms after its end was on disk", l.prompt, l.attempt, float64(l.at-p.durable)/1e6)
			case l.at < lastEnd:
				return fmt.Sprintf("two runs overlap: prompt %s has started before the run before it ended", l.prompt)
			case r.starts > 1+limit || l.attempt > limit:
				return fmt.Sprintf("prompt %s has started %d times, the last time as attempt %d of %d", l.prompt, r.starts, l.attempt, limit)
			case l.attempt <= r.attempt:
				return fmt.Sprintf("prompt %s has started as attempt %d after attempt %d: no attempt was charged", l.prompt, l.attempt, r.attempt)
			}
			r.attempt = l.attempt
		}
	}
	return ""
}

func starts(lines []line, prompt string) int {
	n := 0
	for _, l := range lines {
		if l.kind == lineStart && l.prompt == prompt {
			n++
		}
	}
	return n
}

// lastEnd is the code with which the last run of a prompt exited by itself; false when it did not.
func lastEnd(lines []line, prompt string) (code int, exited bool) {
	for _, l := range lines {
		if l.prompt == prompt && (l.kind == lineStart || l.kind == lineEnd) {
			code, exited = l.code, l.kind == lineEnd
		}
	}
	return code, exited
}

// receipted tells whether a receipt has run after the last run of a prompt, and before one of another began.
func receipted(lines []line, prompt string) bool {
	own, ran := false, false
	for _, l := range lines {
		switch {
		case l.kind == lineStart || l.kind == lineEnd:
			if own = l.prompt == prompt; own {
				ran = false
			}
		case l.kind == lineReceipt && own:
			ran = true
		}
	}
	return ran
}
