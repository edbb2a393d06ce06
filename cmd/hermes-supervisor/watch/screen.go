package watch

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// What is written besides the lines: xterm's private modes (ctlseqs), which other terminals share or pass over.
const (
	enterScreen = csi + "?1049h" + csi + "?25l" + csi + "?7l" + csi + "?2004h" + csi + "H" + csi + "2J" // other screen, no cursor, no wrapping, pastes told from keys
	leaveScreen = reset + csi + "?2004l" + csi + "?7h" + csi + "?25h" + csi + "?1049l"
	beginFrame  = csi + "?2026h" // shown at once when it is complete
	endFrame    = csi + "?2026l"
)

// lastWrite bounds what an end, or the answer to a question, waits for a terminal that takes nothing (Ctrl-S, a window
// that hangs).
const lastWrite = 300 * time.Millisecond

// Screen draws on a terminal, and gives it back. Its methods are called from one goroutine.
type Screen struct {
	in, out *os.File
	before  modes // of the terminal as it was found

	shown         []string // lines as they were last written; nil: nothing of it is known
	width, height int
	on            bool
	// Written has a value when a frame is out: a terminal may take its time, which must not hold up who waits for a key.
	Written chan struct{}
	writing bool
	missed  bool // something else is to be shown by now
}

// NewScreen is a screen that is not entered yet. The error says that the files are no terminal.
func NewScreen(in, out *os.File) (*Screen, error) {
	before, err := readModes(in, out)
	if err != nil {
		return nil, fmt.Errorf("read the terminal's modes: %w", err)
	}
	return &Screen{in: in, out: out, before: before, Written: make(chan struct{}, 1)}, nil
}

// Enter takes the terminal: each key is read as it comes, nothing is echoed.
func (s *Screen) Enter() error {
	if err := setRaw(s.in, s.out, s.before); err != nil {
		return fmt.Errorf("set the terminal's modes: %w", err)
	}
	s.on, s.shown = true, nil
	s.write([]byte(enterScreen))
	return nil
}

// Leave gives the terminal back with the screen and the modes that it had. Once more is nothing.
func (s *Screen) Leave() {
	if !s.on {
		return
	}
	s.on = false
	s.await()
	s.write([]byte(leaveScreen))
	s.await()
	_ = restoreModes(s.in, s.out, s.before) // a terminal that is gone has none
}

// Size is that of the terminal now.
func (s *Screen) Size() (width, height int) {
	width, height = size(s.out)
	if width <= 0 || height <= 0 { // a line that tells none
		width, height = 80, 24
	}
	return width, height
}

// Forget has the next frame written whole.
func (s *Screen) Forget() { s.shown = nil }

// Draw shows a model: what differs from the last frame, in one write, or nothing. While that one is still being written
// it waits for Written.
func (s *Screen) Draw(m *Model) {
	if s.writing {
		s.missed = true
		return
	}
	width, height := s.Size()
	if width != s.width || height != s.height {
		s.width, s.height, s.shown = width, height, nil
	}
	lines := m.View(width, height)
	var b bytes.Buffer
	for i, line := range lines {
		if i < len(s.shown) && s.shown[i] == line {
			continue
		}
		// Erased first: behind a line that fills its row the cursor stands on the last column.
		fmt.Fprintf(&b, csi+"%d;1H"+csi+"K%s", i+1, line)
	}
	s.shown = lines
	if b.Len() > 0 {
		s.write([]byte(beginFrame + b.String() + endFrame))
	}
}

// Done takes a value of Written, and draws what came meanwhile.
func (s *Screen) Done(m *Model) {
	s.writing = false
	if s.missed {
		s.missed = false
		s.Draw(m)
	}
}

func (s *Screen) write(b []byte) {
	s.await()
	s.writing = true
	go func() {
		_, _ = s.out.Write(b) // a terminal that is gone is told by its reader
		s.Written <- struct{}{}
	}()
}

// await waits for the last write, at most lastWrite.
func (s *Screen) await() {
	if !s.writing {
		return
	}
	select {
	case <-s.Written:
		s.writing = false
	case <-time.After(lastWrite):
	}
}
