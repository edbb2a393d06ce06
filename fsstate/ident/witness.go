package ident

import "errors"

// Witness is the state of a witness file: the file whose lock an instance holds for life. The zero value is
// [WitnessUnknown].
type Witness int

// The three states of a witness file.
const (
	// WitnessUnknown: missing, unreadable, not a regular file, or of a file system that cannot lock.
	WitnessUnknown Witness = iota
	// WitnessHeld: somebody has the lock, so the instance or a descendant of it lives (perhaps stopped).
	WitnessHeld
	// WitnessFree: nobody has the lock. Proof of anything only on a file system whose locks can be trusted.
	WitnessFree
)

// String is UNKNOWN, HELD or FREE.
func (w Witness) String() string {
	switch w {
	case WitnessHeld:
		return "HELD"
	case WitnessFree:
		return "FREE"
	default:
		return "UNKNOWN"
	}
}

// MarshalText writes what String says; it does not fail.
func (w Witness) MarshalText() ([]byte, error) {
	return []byte(w.String()), nil
}

// ErrWitnessHeld is wrapped by [LockWitness]'s error when another open file has the lock.
var ErrWitnessHeld = errors.New("held by another open file")
