package queue

// RequestFacts are everything that the admission of a new handoff may depend on.
type RequestFacts struct {
	Known     bool // the platform is configured
	SameKey   bool // an earlier request had this key
	SameAsked bool // and asked for the same
	OtherOpen bool // the session has another open handoff
	TurnOpen  bool // the session has an open turn
	AfterTurn bool // the handoff may wait for its end
}

// Admission is what becomes of a request.
type Admission int

// The zero value refuses.
const (
	Refuse   Admission = iota // nothing is written
	Record                    // a new pending handoff
	Same                      // the earlier request is this one, however it stands
	Conflict                  // the key belongs to a request for something else
)

// Admit decides about a request. A key that was used before is looked at first: what it stands for has its own state.
func Admit(f RequestFacts) (Admission, Reason) {
	switch {
	case f.SameKey && f.SameAsked:
		return Same, ReasonSameKey
	case f.SameKey:
		return Conflict, ReasonOtherRequest
	case !f.Known:
		return Refuse, ReasonNotServed
	case f.OtherOpen:
		return Refuse, ReasonOpen
	case f.TurnOpen && !f.AfterTurn:
		return Refuse, ReasonTurnOpen
	}
	return Record, ReasonRequested
}
