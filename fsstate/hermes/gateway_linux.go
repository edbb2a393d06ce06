package hermes

import "hermes-supervisor/fsstate/ident"

// sameGatewayStart compares in Hermes's unit on this system: the ticks of
// /proc/PID/stat, which is also ours.
func sameGatewayStart(id ident.Ident, start int64) bool { return id.Start == start }

// gatewayStart is a start as Hermes writes it on this system.
func gatewayStart(id ident.Ident) *int64 { return &id.Start }
