package doctor

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

// lookAtLocks lets a second process try a lock that this one holds, and then does not: a file system can be on the list
// of the trusted and have locks that do not exclude, and a sandbox can have its own idea of them. It also looks for a lock
// that is not given back.
func lookAtLocks(ctx context.Context, e Env) []Finding {
	used := e.used()
	if len(used) == 0 {
		return ok("not tried: no state yet")
	}
	var found []Finding
	for _, p := range used {
		found = append(found, e.stuck(ctx, p)...)
	}
	if used[0].Home.Path != e.Home.Path {
		return orOK(found, "not tried: no state yet in %s", e.Home.Path)
	}
	return orOK(append(found, e.tryLock(ctx, used[0].Store)...), "a second process is kept out")
}

// tryLock is the test with two processes, in a file of tmp/ that a sweep would take if this process were killed.
func (e Env) tryLock(ctx context.Context, s *fsstate.Store) []Finding {
	path := s.Path(fsstate.Tmp, "doctor-"+strings.ToLower(rand.Text()))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return []Finding{problem("locks cannot be tried: "+err.Error(), letWrite(err, sh("chmod", "u+rwx", s.Path(fsstate.Tmp, ""))))}
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(path)
	}()
	if err := ident.LockWitness(f); err != nil {
		return []Finding{problem("no lock is to be had: "+err.Error(), localHome)}
	}
	if seen, err := e.second(ctx, path); err != nil || seen != ident.WitnessHeld.String() {
		return []Finding{e.lockProblem("while this process held it, a second one saw it", seen, err)}
	}
	if err := f.Close(); err != nil {
		return []Finding{problem(err.Error(), localHome)}
	}
	if seen, err := e.second(ctx, path); err != nil || seen != ident.WitnessFree.String() {
		return []Finding{e.lockProblem("after this process gave it back, a second one saw it", seen, err)}
	}
	return nil
}

func (e Env) lockProblem(when, seen string, err error) Finding {
	if err != nil {
		return problem("locks cannot be tried: the second process failed: "+err.Error(), e.call("version"))
	}
	return problem(fmt.Sprintf("locks do not hold here: %s %s; two could work on one turn", when, seen), localHome)
}

// second is what another process says of the lock of a file.
func (e Env) second(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	argv := append(append([]string{}, e.LockTry...), path)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	detached(cmd)
	cmd.WaitDelay = time.Second
	text, err := cmd.Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(text)), nil
}

// stuckFor is far longer than anybody has a stripe: a few milliseconds.
const stuckFor = time.Second

// stuck finds the stripes that one holder has for all of stuckFor.
func (e Env) stuck(ctx context.Context, p Place) []Finding {
	first := p.Store.HeldLocks()
	if len(first) == 0 {
		return nil
	}
	for end := time.Now().Add(stuckFor); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
		still := map[string]fsstate.Holder{}
		for _, l := range p.Store.HeldLocks() {
			still[l.File] = l.Holder
		}
		kept := first[:0]
		for _, l := range first {
			if h, held := still[l.File]; held && h == l.Holder {
				kept = append(kept, l)
			}
		}
		if first = kept; len(first) == 0 {
			return nil
		}
	}
	var found []Finding
	for _, l := range first {
		path := p.Store.Path(fsstate.Locks, l.File)
		text := path + " is held and not given back"
		remedy := sh("fuser", "-v", path)
		if pid := l.Holder.PID; pid > 0 {
			text = fmt.Sprintf("%s is not given back by pid %d (%s)", path, pid, l.Holder.Purpose)
			remedy = fmt.Sprintf("kill %d", pid)
			if id, err := ident.Of(pid, ""); err == nil && ident.Stopped(id) {
				text += ", which is stopped"
				remedy = fmt.Sprintf("kill -CONT %d", pid)
			}
		}
		found = append(found, problem(text, remedy))
	}
	return bounded(found)
}
