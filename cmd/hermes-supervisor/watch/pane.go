package watch

// pane is text over the tables.
type pane struct {
	title string
	lines []string
	top   int
	page  int // lines that were shown last

	wrapped []string // the lines at a width, since a text may be long and each key draws it
	width   int
}

// update takes one key, and tells whether the pane goes.
func (p *pane) update(k Key) (closed bool) {
	switch k {
	case KeyUp, "k":
		p.top--
	case KeyDown, "j":
		p.top++
	case KeyPageUp, "b":
		p.top -= p.page
	case KeyPageDown, " ":
		p.top += p.page
	case KeyHome, "g":
		p.top = 0
	case KeyEnd, "G":
		p.top = 1 << 30
	case KeyUnknown:
	default:
		return true
	}
	p.top = max(p.top, 0)
	return false
}

// view is the pane in so many lines, and where in its text they are.
func (p *pane) view(width, height int) (lines []string, from, of int) {
	if p.width != width {
		p.width, p.wrapped = width, nil
		for _, line := range p.lines {
			p.wrapped = append(p.wrapped, wrap(clean(line), width)...)
		}
	}
	all := p.wrapped
	p.page = max(height-1, 1)
	p.top = min(p.top, max(len(all)-height, 0))
	return all[p.top:min(p.top+height, len(all))], p.top, len(all)
}
