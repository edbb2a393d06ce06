package policy

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestClassifyExit(t *testing.T) {
	t.Parallel()
	killed := ExitFacts{Signaled: true, Signal: 9}
	with := func(e ExitFacts, changes ...func(*ExitFacts)) ExitFacts {
		for _, change := range changes {
			change(&e)
		}
		return e
	}
	begin := func(e *ExitFacts) { e.BeginEvent = true }
	endEvent := func(e *ExitFacts) { e.EndEvent = true }
	busy := func(e *ExitFacts) { e.BusyEvent = true }
	rate := func(e *ExitFacts) { e.RateLimitEvent = true }
	errorEvent := func(e *ExitFacts) { e.ErrorEvent = true }
	stop := func(e *ExitFacts) { e.StopRequested = true }
	drain := func(e *ExitFacts) { e.Draining = true }
	stall := func(e *ExitFacts) { e.Stalled = true }
	for _, tt := range []struct {
		name   string
		facts  ExitFacts
		want   Exit
		reason Reason
	}{
		{"success", ExitFacts{}, ExitConcluded, ReasonSucceeded},
		{"handled error", ExitFacts{Code: 1}, ExitConcluded, ReasonHandledError},
		{"usage", ExitFacts{Code: 2}, ExitConcluded, ReasonHandledError},
		{"end event, then killed", with(killed, endEvent), ExitConcluded, ReasonEndEvent},
		{"end event, then stopped", with(killed, endEvent, stop), ExitConcluded, ReasonEndEvent},
		{"end event, then drained", with(killed, endEvent, drain), ExitConcluded, ReasonEndEvent},
		{"end event, then stalled", with(killed, endEvent, stall), ExitConcluded, ReasonEndEvent},
		{"end event goes before busy", with(ExitFacts{Code: 1}, endEvent, busy, rate), ExitConcluded, ReasonEndEvent},
		{"busy", with(ExitFacts{Code: 1}, busy), ExitBusy, ReasonBusy},
		{"busy goes before the rate limit", with(ExitFacts{Code: 1}, busy, rate), ExitBusy, ReasonBusy},
		{"words of busy in an answer", with(ExitFacts{}, busy), ExitConcluded, ReasonSucceeded},
		{"words of busy in an answer, then killed", with(killed, busy), ExitCrashed, ReasonKilled},
		{"words of busy in an answer, then killed behind a launcher", with(ExitFacts{Code: 137}, busy), ExitCrashed, ReasonLauncherSignal},
		{"stop goes before busy", with(ExitFacts{Code: 75}, busy, stop), ExitInterrupted, ReasonStopRequested},
		{"drain goes before busy", with(ExitFacts{Code: 75}, busy, drain), ExitDrained, ReasonDrained},
		{"stall goes before busy", with(ExitFacts{Code: 75}, busy, stall), ExitCrashed, ReasonStalled},
		{"busy, after it began", with(ExitFacts{Code: 1}, begin, busy), ExitConcluded, ReasonHandledError},
		{"gemini: ended by SIGTERM in its answer, exit 0", with(ExitFacts{}, begin), ExitCrashed, ReasonNoEnd},
		{"begun and ended", with(ExitFacts{}, begin, endEvent), ExitConcluded, ReasonEndEvent},
		{"begun and failed by its own word, exit 0", with(ExitFacts{}, begin, errorEvent), ExitConcluded, ReasonHandledError},
		{"begun and failed", with(ExitFacts{Code: 145}, begin), ExitConcluded, ReasonHandledError},
		{"begun and stopped on request, exit 0", with(ExitFacts{}, begin, stop), ExitInterrupted, ReasonStopRequested},
		{"begun and drained, exit 0", with(ExitFacts{}, begin, drain), ExitDrained, ReasonDrained},
		{"begun, and the preset calls 0 an end", ExitFacts{BeginEvent: true, ConcludedCodes: []int{0}}, ExitConcluded, ReasonConcludedCode},
		{"rate limit", with(ExitFacts{Code: 1}, rate), ExitRateLimited, ReasonRateLimited},
		{"rate limit told as an error event", with(ExitFacts{Code: 1}, rate, errorEvent), ExitRateLimited, ReasonRateLimited},
		{"stop goes before the rate limit", with(ExitFacts{Code: 1}, rate, stop), ExitInterrupted, ReasonStopRequested},
		{"a rate limit waited out for too long", with(killed, rate, stall), ExitRateLimited, ReasonRateLimited},
		{"words of a rate limit in an answer", with(ExitFacts{}, rate), ExitConcluded, ReasonSucceeded},
		{"nothing to resume", ExitFacts{Code: 1, UnknownSession: true}, ExitUnknownSession, ReasonUnknownSession},
		{"nothing to resume, told as an error event", with(ExitFacts{Code: 1, UnknownSession: true}, errorEvent), ExitUnknownSession, ReasonUnknownSession},
		{"words of it in an answer", ExitFacts{UnknownSession: true}, ExitConcluded, ReasonSucceeded},
		{"words of it in an answer, after it began", ExitFacts{Code: 1, UnknownSession: true, BeginEvent: true}, ExitConcluded, ReasonHandledError},
		{"words of it in an answer, then killed", with(ExitFacts{Signaled: true, Signal: 9, UnknownSession: true}), ExitCrashed, ReasonKilled},
		{"words of it in an answer, then ended behind a launcher", ExitFacts{Code: 143, UnknownSession: true}, ExitCrashed, ReasonLauncherSignal},
		{"stop goes before a fresh start", with(ExitFacts{Code: 1, UnknownSession: true}, stop), ExitInterrupted, ReasonStopRequested},
		{"error event", with(ExitFacts{Code: 1}, errorEvent), ExitConcluded, ReasonHandledError},
		{"error event, then killed", with(killed, errorEvent), ExitConcluded, ReasonHandledError},
		{"interrupted on request", with(killed, stop), ExitInterrupted, ReasonStopRequested},
		{"claude: interrupted, exit 0", with(ExitFacts{}, stop), ExitInterrupted, ReasonStopRequested},
		{"stop goes before the drain", with(killed, stop, drain), ExitInterrupted, ReasonStopRequested},
		{"drained by a signal", with(ExitFacts{Signaled: true, Signal: 15}, drain), ExitDrained, ReasonDrained},
		{"hermes: drained, exit 0", with(ExitFacts{}, drain), ExitDrained, ReasonDrained},
		{"drain goes before the stall", with(killed, drain, stall), ExitDrained, ReasonDrained},
		{"stalled", with(killed, stall), ExitCrashed, ReasonStalled},
		{"stalled, exit 0 on our signal", with(ExitFacts{}, stall), ExitCrashed, ReasonStalled},
		{"SIGINT by somebody", ExitFacts{Signaled: true, Signal: 2}, ExitInterrupted, ReasonInterruptSignal},
		{"SIGKILL", killed, ExitCrashed, ReasonKilled},
		{"SIGSEGV", ExitFacts{Signaled: true, Signal: 11}, ExitCrashed, ReasonKilled},
		{"SIGTERM by somebody", ExitFacts{Signaled: true, Signal: 15}, ExitCrashed, ReasonKilled},
		{"signal of no number", ExitFacts{Signaled: true}, ExitCrashed, ReasonKilled},
		{"a signal leaves no code", ExitFacts{Signaled: true, Signal: 9, Code: 7, ConcludedCodes: []int{7}}, ExitCrashed, ReasonKilled},
		{"preset's crash code", ExitFacts{Code: 1, CrashCodes: []int{70, 1}}, ExitCrashed, ReasonCrashCode},
		{"preset's crash code 0", ExitFacts{Code: 0, CrashCodes: []int{0}}, ExitCrashed, ReasonCrashCode},
		{"crash code goes before an end code", ExitFacts{Code: 1, CrashCodes: []int{1}, ConcludedCodes: []int{1}}, ExitCrashed, ReasonCrashCode},
		{"preset's end code", ExitFacts{Code: 143, ConcludedCodes: []int{143}}, ExitConcluded, ReasonConcludedCode},
		{"preset's end code 130", ExitFacts{Code: 130, ConcludedCodes: []int{130}}, ExitConcluded, ReasonConcludedCode},
		{"130", ExitFacts{Code: 130}, ExitInterrupted, ReasonInterruptSignal},
		{"gemini: 401 mod 256", ExitFacts{Code: 145}, ExitConcluded, ReasonHandledError},
		{"128", ExitFacts{Code: 128}, ExitConcluded, ReasonHandledError},
		{"-1", ExitFacts{Code: -1}, ExitConcluded, ReasonHandledError},
		{"Windows: access violation", ExitFacts{Code: 0xC0000005}, ExitConcluded, ReasonHandledError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, reason := ClassifyExit(tt.facts); got != tt.want || reason != tt.reason {
				t.Errorf("got %s(%s), want %s(%s)", got, reason, tt.want, tt.reason)
			}
		})
	}
}

// The whole range, so that nobody widens the list of signals by accident.
func TestLaunchersSignalCodesAreCrashes(t *testing.T) {
	t.Parallel()
	crashes := map[int]bool{129: true, 132: true, 134: true, 135: true, 136: true, 137: true, 139: true, 143: true, 159: true}
	for code := range 256 {
		got, _ := ClassifyExit(ExitFacts{Code: code})
		want := ExitConcluded
		switch {
		case crashes[code]:
			want = ExitCrashed
		case code == 130:
			want = ExitInterrupted
		}
		if got != want {
			t.Errorf("exit %d is %s, want %s", code, got, want)
		}
	}
}

func TestClassifyExitPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := ExitFacts{
			Code:           rapid.IntRange(-1, 256).Draw(t, "code"),
			Signal:         rapid.IntRange(0, 64).Draw(t, "signal"),
			Signaled:       rapid.Bool().Draw(t, "signaled"),
			StopRequested:  rapid.Bool().Draw(t, "stop"),
			Draining:       rapid.Bool().Draw(t, "draining"),
			Stalled:        rapid.Bool().Draw(t, "stalled"),
			BeginEvent:     rapid.Bool().Draw(t, "begin"),
			EndEvent:       rapid.Bool().Draw(t, "end"),
			ErrorEvent:     rapid.Bool().Draw(t, "error"),
			BusyEvent:      rapid.Bool().Draw(t, "busy"),
			RateLimitEvent: rapid.Bool().Draw(t, "rate"),
			UnknownSession: rapid.Bool().Draw(t, "unknown"),
			CrashCodes:     rapid.SliceOfN(rapid.IntRange(0, 256), 0, 3).Draw(t, "crash codes"),
			ConcludedCodes: rapid.SliceOfN(rapid.IntRange(0, 256), 0, 3).Draw(t, "concluded codes"),
		}
		got, reason := ClassifyExit(e)
		fail := func(why string) { t.Fatalf("%s: %s(%s) for %+v", why, got, reason, e) }
		if !known(reason) {
			fail("reason is none")
		}
		if e.EndEvent && got != ExitConcluded {
			fail("the agent said that it was done")
		}
		if e.StopRequested && got == ExitCrashed {
			fail("an interrupt that somebody asked for would be continued")
		}
		if (got == ExitBusy || got == ExitUnknownSession) && (e.Signaled || e.Code == 0 || e.StopRequested || e.Draining) {
			fail("what was done would be taken for a refusal")
		}
		asked := e.StopRequested || e.Code == 130 || (e.Signaled && e.Signal == 2)
		if got == ExitInterrupted && !asked {
			fail("interrupted by nobody")
		}
		if e.Signaled && e.Signal != 2 && got == ExitConcluded && !e.EndEvent && !e.ErrorEvent {
			fail("killed, and nothing says that it was done")
		}
	})
}

func TestWordsOfTheEnumerations(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value fmt.Stringer
		want  string
	}{
		{LifeUnknown, "unknown"},
		{LifeAlive, "alive"},
		{LifeDead, "dead"},
		{Life(9), "unknown"},
		{FreshnessUnknown, "unknown"},
		{StillFresh, "fresh"},
		{Stale, "stale"},
		{Future, "future"},
		{Keep, "keep"},
		{Wait, "wait"},
		{Continue, "continue"},
		{End, "end"},
		{Conclude, "conclude"},
		{Action(9), "unknown"},
		{ExitCrashed, "crashed"},
		{ExitConcluded, "concluded"},
		{ExitInterrupted, "interrupted"},
		{ExitDrained, "drained"},
		{ExitBusy, "busy"},
		{ExitRateLimited, "rate-limited"},
		{Exit(9), "unknown"},
		{Refuse, "refuse"},
		{Start, "start"},
		{ContinueTurn, "continue"},
		{Replace, "replace"},
		{Finish, "finish"},
		{FinishThenStart, "finish-then-start"},
		{GiveUp, "give-up"},
		{GiveUpThenStart, "give-up-then-start"},
		{Nothing, "nothing"},
		{Stopped, "stopped"},
		{Retire, "retire"},
		{RetireThenStart, "retire-then-start"},
		{RetireThenStart + 1, "unknown"},
		{Admission(-1), "unknown"},
		{Admission(99), "unknown"},
	} {
		if got := tt.value.String(); got != tt.want {
			t.Errorf("%T(%d) = %q, want %q", tt.value, tt.value, got, tt.want)
		}
	}
	for want, m := range map[string]interface{ MarshalText() ([]byte, error) }{"continue": Continue, "drained": ExitDrained} {
		if got, err := m.MarshalText(); err != nil || string(got) != want {
			t.Errorf("MarshalText of %T = %q, %v, want %q", m, got, err, want)
		}
	}
}
