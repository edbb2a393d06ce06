package watch

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// modes are those of a console's input and output (SetConsoleMode).
type modes struct{ in, out uint32 }

func readModes(in, out *os.File) (m modes, err error) {
	err = errors.Join(windows.GetConsoleMode(windows.Handle(in.Fd()), &m.in), windows.GetConsoleMode(windows.Handle(out.Fd()), &m.out))
	return m, err
}

// setRaw has each key come as it is typed, by the sequences of an xterm, and has those written that are obeyed; from
// Windows 10 1607 on.
func setRaw(in, out *os.File, before modes) error {
	raw := before.in&^(windows.ENABLE_ECHO_INPUT|windows.ENABLE_LINE_INPUT|windows.ENABLE_PROCESSED_INPUT) | windows.ENABLE_VIRTUAL_TERMINAL_INPUT
	drawn := before.out | windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
	return errors.Join(windows.SetConsoleMode(windows.Handle(in.Fd()), raw), windows.SetConsoleMode(windows.Handle(out.Fd()), drawn))
}

func restoreModes(in, out *os.File, before modes) error {
	return errors.Join(windows.SetConsoleMode(windows.Handle(in.Fd()), before.in), windows.SetConsoleMode(windows.Handle(out.Fd()), before.out))
}

// size is asked for with each frame: there is no signal that tells of another one.
func size(out *os.File) (width, height int) {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(out.Fd()), &info) != nil {
		return 0, 0
	}
	return int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1
}

var caught = []os.Signal{os.Interrupt, syscall.SIGTERM}

func isStop(os.Signal) bool     { return false }
func isContinue(os.Signal) bool { return false }
func isResize(os.Signal) bool   { return false }

// isJob: no shell here takes a terminal back.
func isJob() bool { return false }

func stopSelf() {}
