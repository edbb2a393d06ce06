package doctor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hermes-supervisor/cmd/hermes-supervisor/doctor"
)

// A check that hangs in the kernel is left behind at its limit; the others are told, in their order, and what is still
// looking after two seconds is named once.
func TestAHangingCheckIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		checks := []doctor.Check{
			{Name: "hangs", Look: func(context.Context, doctor.Env) []doctor.Finding { <-release; return nil }},
			{Name: "slow", Limit: time.Minute, Look: func(ctx context.Context, _ doctor.Env) []doctor.Finding {
				select {
				case <-ctx.Done():
				case <-time.After(5 * time.Second):
				}
				return []doctor.Finding{{Status: doctor.OK, Text: "a\x1b[31mred\nline"}}
			}},
			{Name: "quick", Look: func(context.Context, doctor.Env) []doctor.Finding {
				return []doctor.Finding{{Status: doctor.Warning, Text: "w", Remedy: "r"}}
			}},
		}
		var slow [][]string
		start := time.Now()
		report := doctor.Run(t.Context(), doctor.Env{}, checks, func(names []string) { slow = append(slow, names) })
		want := []doctor.Finding{
			{Check: "hangs", Status: doctor.Problem, Text: "no answer within 10s: a file system or a program hangs", Remedy: "mount | tail -n 40"},
			{Check: "slow", Status: doctor.OK, Text: "a�[31mred�line"},
			{Check: "quick", Status: doctor.Warning, Text: "w", Remedy: "r"},
		}
		if diff := cmp.Diff(want, report); diff != "" {
			t.Error(diff)
		}
		if took := time.Since(start); took > 11*time.Second {
			t.Errorf("it took %s", took)
		}
		if diff := cmp.Diff([][]string{{"hangs", "slow"}}, slow); diff != "" {
			t.Error(diff)
		}
		if doctor.Worst(report) != doctor.Problem || doctor.Worst(report[1:]) != doctor.Warning || doctor.Worst(nil) != doctor.OK {
			t.Error("Worst is not the worst")
		}
	})
}
