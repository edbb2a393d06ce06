package watch

// pane is text over the tables.
type pane struct {
	title string
	lines []string
	top   int
	page  int // lines that were shown last
}

// update takes one key, and tells whether the pane goes.
func (p *pane) update(k Key) (closed bool) {
	switch {
	case k == KeyUp || k == "k":
		p.top--
	case k == KeyDown || k == "j":
		p.top++
	case k == KeyPageUp || k == "b":
		p.top -= p.page
	case k == KeyPageDown || k == " ":
		p.top += p.page
	case k == KeyHome || k == "g":
		p.top = 0
	case k == KeyEnd || k == "G":
		p.top = 1 << 30
	case k == KeyUnknown:
	default:
		return true
	}
	p.top = max(p.top, 0)
	return false
}

// view is the pane in so many lines, and where in its text they are.
func (p *pane) view(width, height int) (lines []string, from, of int) {
	var all []string
	for _, line := range p.lines {
		all = append(all, wrap(clean(line), width)...)
	}
	p.page = max(height-1, 1)
	p.top = min(p.top, max(len(all)-height, 0))
	return all[p.top:min(p.top+height, len(all))], p.top, len(all)
}
