package queue

import "testing"

func TestAdmit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		facts  RequestFacts
		want   Admission
		reason Reason
	}{
		{"a new one", RequestFacts{Known: true}, Record, ReasonRequested},
		{"a new one that may wait", RequestFacts{Known: true, AfterTurn: true}, Record, ReasonRequested},
		{"nothing is known", RequestFacts{}, Refuse, ReasonNotServed},
		{"an unknown platform comes before what is open", RequestFacts{OtherOpen: true, TurnOpen: true}, Refuse, ReasonNotServed},
		{"another is open", RequestFacts{Known: true, OtherOpen: true}, Refuse, ReasonOpen},
		{"another is open, and it may wait for the turn", RequestFacts{Known: true, OtherOpen: true, AfterTurn: true}, Refuse, ReasonOpen},
		{"another is open, and a turn", RequestFacts{Known: true, OtherOpen: true, TurnOpen: true}, Refuse, ReasonOpen},
		{"a turn is open", RequestFacts{Known: true, TurnOpen: true}, Refuse, ReasonTurnOpen},
		{"a turn is open, and it may wait", RequestFacts{Known: true, TurnOpen: true, AfterTurn: true}, Record, ReasonRequested},
		{"the same key", RequestFacts{Known: true, SameKey: true, SameAsked: true}, Same, ReasonSameKey},
		{"the same key, itself open", RequestFacts{Known: true, SameKey: true, SameAsked: true, OtherOpen: true}, Same, ReasonSameKey},
		{"the same key, its turn open", RequestFacts{Known: true, SameKey: true, SameAsked: true, TurnOpen: true}, Same, ReasonSameKey},
		{"the same key, the platform is gone since", RequestFacts{SameKey: true, SameAsked: true}, Same, ReasonSameKey},
		{"the key of something else", RequestFacts{Known: true, SameKey: true}, Conflict, ReasonOtherRequest},
		{"the key of something else, that is open", RequestFacts{Known: true, SameKey: true, OtherOpen: true}, Conflict, ReasonOtherRequest},
		{"the key of something else, at no platform", RequestFacts{SameKey: true}, Conflict, ReasonOtherRequest},
		{"asked the same without its key", RequestFacts{Known: true, SameAsked: true, OtherOpen: true}, Refuse, ReasonOpen},
	} {
		if got, reason := Admit(tt.facts); got != tt.want || reason != tt.reason {
			t.Errorf("%s: %d %s, want %d %s", tt.name, got, reason, tt.want, tt.reason)
		}
	}
}

func TestTheZeroAdmissionRefuses(t *testing.T) {
	t.Parallel()
	var zero Admission
	if zero != Refuse {
		t.Errorf("the zero value is %d", zero)
	}
}

func TestNothingIsRecordedBesideAnOpenHandoffOrUnderAUsedKey(t *testing.T) {
	t.Parallel()
	for bits := range 1 << 6 {
		on := func(n int) bool { return bits>>n&1 == 1 }
		f := RequestFacts{Known: on(0), SameKey: on(1), SameAsked: on(2), OtherOpen: on(3), TurnOpen: on(4), AfterTurn: on(5)}
		got, _ := Admit(f)
		may := f.Known && !f.SameKey && !f.OtherOpen && (!f.TurnOpen || f.AfterTurn)
		if (got == Record) != may {
			t.Errorf("%+v: %d", f, got)
		}
	}
}
