package watch

// The attributes of ECMA-48 8.3.117; bold and reverse are no colours, which NO_COLOR is about.
const (
	csi     = "\x1b["
	reset   = csi + "m"
	bold    = csi + "1m"
	faint   = csi + "2m"
	reverse = csi + "7m"
	red     = csi + "31m"
	green   = csi + "32m"
	yellow  = csi + "33m"
)

func (m *Model) styled(s string, mood Mood) string {
	if !m.Colour || s == "" {
		return s
	}
	switch mood {
	case Good:
		return green + s + reset
	case Busy:
		return yellow + s + reset
	case Bad:
		return red + s + reset
	case Faint:
		return faint + s + reset
	case Plain:
	}
	return s
}

func (m *Model) bold(s string) string     { return m.attribute(bold, s) }
func (m *Model) reversed(s string) string { return m.attribute(reverse, s) }

func (m *Model) attribute(on, s string) string {
	if s == "" {
		return ""
	}
	return on + s + reset
}
