package phase

import "time"

// floor is the earliest time at which the storm bound allows an automatic
// start; now or earlier: at once. It tidies Recent on the way.
//
// A time that lies ahead of the clock (it was set back, or the record is
// forged) counts as now: it blocks for one window and no longer.
func (c *change) floor() time.Time {
	window := c.set.window()
	recent := make([]time.Time, 0, len(c.Recent)+1) // one more: a start mostly follows
	for _, t := range c.Recent {
		if t.After(c.now) {
			t = c.now
		}
		if c.now.Sub(t) < window {
			recent = append(recent, t)
		}
	}
	if over := len(recent) - c.set.bound(); over > 0 {
		recent = recent[over:]
	}
	c.Recent = recent
	if len(recent) < c.set.bound() {
		return c.now
	}
	return recent[0].Add(window)
}

// remember counts an automatic start; floor has tidied Recent, and allowed it.
func (c *change) remember() { c.Recent = append(c.Recent, c.now) }

// looping reports whether people should be told of a crash loop. The storm
// bound alone would not show one: the default back-off outgrows it after seven
// starts. So as many restarts in a row, however slow, are a loop too.
func (c *change) looping() bool {
	return len(c.Recent) >= c.set.bound() || c.Streak >= c.set.bound()
}
