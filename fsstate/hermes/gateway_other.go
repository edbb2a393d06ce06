//go:build !linux

package hermes

import (
	"math"

	"hermes-supervisor/fsstate/ident"
)

// sameGatewayStart compares in Hermes's unit on this system: psutil's create time
// in hundredths of a second. It drifts with the clock, so 2 s apart is the same;
// what cannot be read is the same too, because it is not known to be another.
func sameGatewayStart(id ident.Ident, start int64) bool {
	created, err := ident.Created(id.PID)
	return err != nil || math.Abs(created*100-float64(start)) <= clockDrift*100
}

// gatewayStart is a start as Hermes writes it on this system: not to be told to the hundredth. Without it Hermes goes by
// the pid, for the minute in which the file counts.
func gatewayStart(ident.Ident) *int64 { return nil }
