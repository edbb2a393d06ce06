package mockmodel

// An Answer is what the server does with one model request.
type Answer struct {
	// Text is the whole answer. It is streamed in two halves; "" is answered with DefaultText.
	Text string `json:"text,omitempty"`
	// Tool is called after the text. What the agent's next request carries is its result, and takes the next answer.
	Tool *Tool `json:"tool,omitempty"`
	// Ending is what happens once the first half is on its way.
	Ending Ending `json:"ending"`
	// Status refuses the request with this HTTP status instead, and nothing is streamed. 0: no refusal.
	Status int `json:"status,omitempty"`
}

// DefaultText answers a request for which the script has nothing.
const DefaultText = "The work is done."

// A Tool is the call of one of the agent's tools. Which ones it has, and by what names, its requests tell: Request.Tools.
type Tool struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// An Ending is how an answer goes on after its first half.
type Ending int

// The endings of an answer.
const (
	Complete Ending = iota // the second half follows at once
	Stall                  // nothing follows until Release; then the second half
	Cut                    // the connection is closed in the middle of the answer
)

// String names the ending.
func (e Ending) String() string {
	switch e {
	case Stall:
		return "stall"
	case Cut:
		return "cut"
	default:
		return "complete"
	}
}

// MarshalText is the name of the ending, so that a log is readable.
func (e Ending) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// A speech is an answer as a wire format has to put it.
type speech struct {
	n          int    // of the request; makes identifiers that differ
	model      string // that was asked for
	head, tail string // the halves of the text
	tool       *Tool  // nil: none is called
}

func (s speech) text() string { return s.head + s.tail }

func (a Answer) speech(n int, model string) speech {
	text := a.Text
	if text == "" {
		text = DefaultText
	}
	head, tail := halves(text)
	return speech{n: n, model: model, head: head, tail: tail, tool: a.Tool}
}

// halves cuts text where the answer may be interrupted. The cut is between two runes: a wire format is JSON, and half a
// rune is not.
func halves(text string) (first, second string) {
	runes := []rune(text)
	middle := (len(runes) + 1) / 2
	return string(runes[:middle]), string(runes[middle:])
}
