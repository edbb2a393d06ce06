//go:build unix

package fsstate

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestAHostileHandoffIsRefusedAndBlocksNoOther(t *testing.T) {
	t.Parallel()
	for _, folder := range []Folder{Handoffs, Handed} {
		t.Run(string(folder), func(t *testing.T) {
			t.Parallel()
			eachHostile(t, func(t *testing.T, kind string) {
				t.Helper()
				hf := handoffFiles(t)
				outside, untouched := outsideFolder(t)
				stillThere := besides(t, hf)
				if folder == Handed { // what it hides stays hidden
					putOne(t, hf, handoffOf("pending", 0), hf.Put)
				}
				path := hf.Store.Path(folder, handoffID+".json")
				hostile[kind].make(t, path, outside)
				inTime(t, func() {
					h, err := hf.Get(handoffID)
					unsafe, is := errors.AsType[*UnsafeError](err)
					if h != nil || !is || unsafe.Path != path || !strings.Contains(unsafe.Problem, hostile[kind].problem) ||
						strings.Contains(err.Error(), "\n") {
						t.Errorf("Get: %v, %v", h, err)
					}
					if kind != "1 TB sparse file" && folder == Handoffs {
						if err := hf.Heartbeat(handoffID, time.Now()); err == nil {
							t.Error("Heartbeat took it")
						}
					}
					stillThere()
					untouched()
					if folder == Handed && kind != "directory" {
						if err := hf.Tidy(handoffID); err != nil {
							t.Errorf("Tidy: %v", err)
						}
					}
					aside, err := hf.SetAside(folder, handoffID, time.Now())
					if err != nil {
						t.Fatalf("SetAside: %v", err)
					}
					if _, err := os.Lstat(hf.Store.Path(folder, aside)); err != nil {
						t.Error(err)
					}
					stillThere()
				})
				untouched()
			})
		})
	}
}

// A writer replaces what stands in its place, or says that it cannot, and follows nothing.
func TestAHandoffIsNeverWrittenThroughWhatStandsInItsPlace(t *testing.T) {
	t.Parallel()
	eachHostile(t, func(t *testing.T, kind string) {
		t.Helper()
		hf := handoffFiles(t)
		outside, untouched := outsideFolder(t)
		for folder, write := range map[Folder]func(*Handoff) error{Handoffs: hf.Put, Handed: hf.Settle} {
			path := hf.Store.Path(folder, handoffID+".json")
			hostile[kind].make(t, path, outside)
			inTime(t, func() {
				err := write(handoffOf("pending", 0))
				if (err == nil) == (kind == "directory") {
					t.Errorf("%s: %v", folder, err)
				}
				untouched()
				if h, gerr := hf.Get(handoffID); err == nil && (gerr != nil || !h.Verified) {
					t.Errorf("%s: read back: %v", folder, gerr)
				}
			})
			if err := os.RemoveAll(hf.Store.Path(folder, "other")); err != nil {
				t.Fatal(err)
			}
		}
		untouched()
	})
}
