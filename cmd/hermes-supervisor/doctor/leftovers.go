package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"hermes-supervisor/fsstate"
)

// orderLife is how long an order to a supervisor is good: DESIGN.md.
const orderLife = time.Minute

// lookAtLeftovers: what nobody needs any more. `run` and keepers sweep it on their way, so it stays only where they have
// not been for long.
func lookAtLeftovers(ctx context.Context, e Env) []Finding {
	var found []Finding
	for _, p := range e.used() {
		found = append(found, e.sweepable(ctx, p)...)
		if paths := p.Store.Aside(); len(paths) > 0 {
			text := paths[0] + " was set aside as broken"
			if len(paths) > 1 {
				text = fmt.Sprintf("%s and %d more were set aside as broken", paths[0], len(paths)-1)
			}
			remedy := append([]string{"rm", "--"}, paths[:min(most, len(paths))]...)
			found = append(found, warning(text, sh(remedy...)))
		}
		found = append(found, e.expired(p)...)
	}
	return orOK(found, "none")
}

func (e Env) sweepable(ctx context.Context, p Place) []Finding {
	sweep := e.in(p, "sweep")
	var found []Finding
	if names, err := p.Store.StaleTmp(e.Now); err == nil && len(names) > 0 {
		found = append(found, warning(fmt.Sprintf("%s%s of killed writers in tmp/", e.at(p), count(len(names), "file")), sweep))
	}
	counts := map[fsstate.Folder]int{}
	for _, l := range p.Room.Leftovers(ctx, e.Now) {
		counts[l.Folder]++
	}
	for _, kind := range []struct {
		folder fsstate.Folder
		text   string
	}{
		{fsstate.Ended, "in ended/ beyond its 7 days"},
		{fsstate.Outcomes, "in outcomes/ beyond its 7 days"},
		{fsstate.Requests, "in requests/ that nobody waits for"},
		{fsstate.Run, "in run/ of instances that are gone"},
	} {
		if n := counts[kind.folder]; n > 0 {
			found = append(found, warning(fmt.Sprintf("%s%s %s", e.at(p), count(n, "file"), kind.text), sweep))
		}
	}
	return found
}

// expired are orders that nobody has taken in the time in which they are good, and that a sweep leaves for a day.
func (e Env) expired(p Place) []Finding {
	ids, err := fsstate.OrderFiles{Store: p.Store}.Pending()
	if err != nil {
		return nil
	}
	var paths []string
	for _, id := range ids {
		name := "order-" + id + ".json"
		info, err := p.Store.Stat(fsstate.Requests, name)
		if age := e.Now.Sub(info.ModTime); err == nil && age > orderLife && age <= 24*time.Hour {
			paths = append(paths, p.Store.Path(fsstate.Requests, name))
		}
	}
	if len(paths) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s%s expired, and no supervisor took it", e.at(p), count(len(paths), "order"))
	return []Finding{warning(text, sh(append([]string{"rm", "--", filepath.Clean(paths[0])}, paths[1:min(most, len(paths))]...)...))}
}
