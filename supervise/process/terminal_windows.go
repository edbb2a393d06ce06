package process

import (
	"os"

	"golang.org/x/sys/windows"
)

// IsTerminal tells whether a file is a console (GetConsoleMode).
func IsTerminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}

// InForeground is false: a console has no foreground that could be handed over.
func InForeground(*os.File) bool { return false }

// TakeTerminal does nothing: see InForeground.
func TakeTerminal(*os.File) error { return nil }

// loan is never made here: see Spec.Terminal.
type loan struct{}

func lend(Spec) *loan { return nil }

func (*loan) begin(*Child) {}
func (*loan) end()         {}

func (h *Host) attend(*Child) {}

// HasTerminal is false: the closing of a console is told as SIGTERM, which needs no second look.
func HasTerminal() bool { return false }
