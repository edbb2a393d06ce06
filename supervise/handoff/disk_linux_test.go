package handoff

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
)

// newSmallHome is a home on a file system of its own, of 1 MiB.
func newSmallHome(t *testing.T) *home {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		t.Skipf("a file system of its own needs root and the right to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	h := newHomeAt(t, dir)
	h.dir = t.TempDir() // what the test itself writes has room
	return h
}

// broken are the ways in which the state folder takes nothing any more, and how that passes.
var broken = map[string]struct {
	end   error
	begin func(h *home) (pass func())
}{
	"full":      {syscall.ENOSPC, (*home).fill},
	"read-only": {syscall.EROFS, (*home).forbid},
}

// fill takes all the room there is.
func (h *home) fill() (pass func()) {
	h.Helper()
	ballast := filepath.Join(h.place.Home.Root, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		h.Fatal(err)
	}
	defer f.Close()
	for _, n := range []int{64 << 10, 4 << 10, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			h.Fatal(err)
		}
	}
	return func() {
		// Not by its removal alone: a fork of a test beside this one may hold the file for a moment, and with it the room.
		if err := errors.Join(os.Truncate(ballast, 0), os.Remove(ballast)); err != nil {
			h.Fatal(err)
		}
	}
}

func (h *home) forbid() (pass func()) {
	h.Helper()
	mount := func(flags uintptr) {
		h.until("the file system takes it", func() bool { // EBUSY: a fork of a test beside this one holds a file for a moment
			err := syscall.Mount("", filepath.Dir(h.place.Home.Root), "", syscall.MS_REMOUNT|flags, "")
			if err != nil && !errors.Is(err, syscall.EBUSY) {
				h.Fatal(err)
			}
			return err == nil
		})
	}
	mount(syscall.MS_RDONLY)
	return func() { mount(0) }
}

// records are the files of all handoffs.
func (h *home) records() map[string]string {
	h.Helper()
	all := h.state()
	maps.DeleteFunc(all, func(name, _ string) bool { return !strings.Contains(name, "/hand") })
	return all
}

func TestTransitionOnABrokenDiskLeavesTheHandoffAsItWas(t *testing.T) {
	t.Parallel()
	for how, disk := range broken {
		for what, tc := range map[string]struct {
			before   []string // transitions that bring it there
			dead     bool     // its claimer is
			old, new queue.State
		}{
			"request":  {nil, false, "", queue.Pending},
			"claim":    {[]string{"request"}, false, queue.Pending, queue.Running},
			"complete": {[]string{"request", "claim"}, false, queue.Running, queue.Completed},
			"fail":     {[]string{"request", "claim"}, false, queue.Running, queue.Failed},
			"cancel":   {[]string{"request"}, false, queue.Pending, queue.Failed},
			"reclaim":  {[]string{"request", "claim"}, true, queue.Running, queue.Failed},
			"retry":    {[]string{"request", "claim", "fail"}, false, queue.Failed, queue.Pending},
			// of a running one: it is asked to stop
			"cancel running": {[]string{"request", "claim"}, false, queue.Running, queue.Running},
		} {
			t.Run(what+" "+how, func(t *testing.T) {
				t.Parallel()
				h := newSmallHome(t)
				o := op{Claim: h.dead()}
				if !tc.dead {
					var err error
					if o.Claim, err = ident.Self(ident.NewInstance()); err != nil {
						t.Fatal(err)
					}
				}
				do := func(what string) (*fsstate.Handoff, error) {
					o.What, _, _ = strings.Cut(what, " ")
					hd, err := o.do(t.Context(), h.queue)
					if err == nil {
						o.ID = hd.ID
					}
					return hd, err
				}
				for _, step := range tc.before {
					if _, err := do(step); err != nil {
						t.Fatal(step, err)
					}
				}
				before := h.records()
				pass := disk.begin(h)
				for range 2 {
					_, err := do(what)
					if _, path := errors.AsType[*fs.PathError](err); !errors.Is(err, disk.end) || !path && !isLink(err) {
						t.Errorf("error %v, want one about a path that says %v", err, disk.end)
					}
					if after := h.records(); !maps.Equal(before, after) {
						t.Errorf("records %v, then %v", before, after)
					}
					if o.ID != "" {
						h.wantState(o.ID, tc.old)
					}
				}
				pass()
				if hd, err := do(what); err != nil || hd.State != string(tc.new) {
					t.Fatalf("once there is room: %+v, %v", hd, err)
				}
				if hd := h.wantState(o.ID, tc.new); what == "cancel running" && hd.CancelAsked.IsZero() {
					t.Error("it is not asked to stop")
				}
			})
		}
	}
}

func isLink(err error) bool {
	_, is := errors.AsType[*os.LinkError](err)
	return is
}

func TestKeeperThatCannotRecordItsClaimStartsNothing(t *testing.T) {
	t.Parallel()
	for how, begin := range map[string]func(h *home) (pass func()){
		"full": (*home).fill, "read-only": (*home).forbid, "full after the witness": func(h *home) func() {
			pass := h.fill()
			ballast := filepath.Join(h.place.Home.Root, "ballast")
			st, err := os.Stat(ballast)
			if err == nil {
				err = os.Truncate(ballast, (st.Size()-1)/4096*4096) // one page
			}
			if err != nil {
				h.Fatal(err)
			}
			return pass
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h := newSmallHome(t)
			h.platform("chat", "exit", "0")
			id := h.request("chat")
			before := h.records()
			pass := begin(h)
			if r := h.keep(id).wait(); !r.Fault {
				t.Errorf("keeper: %+v", r)
			}
			if after := h.records(); !maps.Equal(before, after) {
				t.Errorf("records %v, then %v", before, after)
			}
			h.ran(0)
			pass()
			// A witness that was made stays for the sweep: its claim may be visible all the same.
			if left := h.runFiles(); (len(left) > 0) != (how == "full after the witness") {
				t.Errorf("run/ holds %v", left)
			}
			h.keep(id).want(queue.Completed)
			h.ran(1)
		})
	}
}

func TestDeliveryWhoseEndFindsNoRoomIsRecordedWhenThereIs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]queue.State{"0": queue.Completed, "3": queue.Failed} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			h := newSmallHome(t)
			h.platform("chat", "say", "here", "await", "./go", "exit", name)
			id := h.request("chat")
			k := h.keep(id)
			h.said("here")
			h.recorded(id)
			pass := h.fill()
			h.touch("go")
			h.until("the keeper insists", func() bool { return strings.Contains(k.said(), "trying again") })
			h.wantState(id, queue.Running)
			pass()
			k.want(want)
			h.wantState(id, want)
			h.ran(1)
		})
	}
}

func TestDeliveryWhoseEndCouldNotBeRecordedIsTakenBackAndNotRunAgain(t *testing.T) {
	t.Parallel()
	h := newSmallHome(t)
	h.platform("chat", "say", "here", "await", "./go")
	id := h.request("chat")
	k := h.keep(id)
	h.said("here")
	h.recorded(id)
	pass := h.fill()
	h.touch("go")
	h.until("the keeper insists", func() bool { return strings.Contains(k.said(), "trying again") })
	k.kill()
	if err := h.reclaim(id); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("reclaim: %v", err)
	}
	h.wantState(id, queue.Running)
	pass()
	h.takenBack(id)
	h.ran(1)
}
