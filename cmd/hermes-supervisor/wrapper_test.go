package main

import (
	"testing"

	"hermes-supervisor/policy"
)

// What a message advises has to work: where a record names no agent, turn resume asks for one.
func TestTheAdviceToResumeATurnNamesWhatItNeeds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ session, agent, want string }{
		{"opencode:ses_1", "", "give the command again, or `turn resume opencode:ses_1 --agent opencode`"},
		{"opencode:ses_1", "opencode", "give the command again, or `turn resume opencode:ses_1`"},
		{"agent:main", "", "give the command again, or `turn resume agent:main -- …`"},
		{"nightly", "", "give the command again, or `turn resume nightly -- …`"},
		{"nightly", "codex", "give the command again, or `turn resume nightly`"},
	} {
		if got := remedy(policy.ReasonDrained, tc.session, tc.agent); got != tc.want {
			t.Errorf("session %s of agent %q: %s, not %s", tc.session, tc.agent, got, tc.want)
		}
	}
}
