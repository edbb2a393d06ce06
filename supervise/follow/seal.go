package follow

import (
	"encoding/json"

	"hermes-supervisor/fsstate"
)

// What the state names that is ended or removed by it is sealed: agents can write that file.

// seal is a value as it stands in the state of this home; what says what for. Without a key it has no seal.
func (f *Follower) seal(what string, value any) fsstate.Document {
	var d fsstate.Document
	if text, err := json.Marshal(value); err != nil || json.Unmarshal(text, &d) != nil {
		return nil
	}
	d.Seal(f.Key, f.sealContext(what))
	return d
}

// unseal reads such a value, and tells whether it is ours.
func (f *Follower) unseal(what string, d fsstate.Document, into any) bool {
	text, err := json.Marshal(d)
	return err == nil && d.Verify(f.Key, f.sealContext(what)) && json.Unmarshal(text, into) == nil
}

func (f *Follower) sealContext(what string) string { return what + " " + f.Store.Home().Path }
