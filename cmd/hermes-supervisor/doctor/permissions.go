package doctor

import (
	"context"
	"errors"

	"hermes-supervisor/fsstate"
)

// lookAtPermissions: what the store itself would refuse, in every home.
func lookAtPermissions(_ context.Context, e Env) []Finding {
	var found []Finding
	used := 0
	for _, p := range e.Places() {
		if _, unsafe := errors.AsType[*fsstate.UnsafeError](p.Err); p.Err != nil && (unsafe || p.Store == nil) {
			found = append(found, p.unsafe(p.Err))
		}
		if p.Store == nil {
			continue
		}
		used++
		if err := e.Writable(p.Store.Path("", "")); err != nil {
			found = append(found, problem(p.Store.Path("", "")+" cannot be written: "+err.Error(), letWrite(err, sh("chmod", "-R", "u+rwX", p.Store.Path("", "")))))
		}
		for _, err := range p.Store.Inspect(most) {
			found = append(found, p.unsafe(err))
		}
	}
	if used == 0 {
		return orOK(found, "no state yet")
	}
	return orOK(found, "state is plainly yours in %s", count(used, "home"))
}
