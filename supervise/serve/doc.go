// Package serve continues a turn that was cut in Hermes's own backend (`hermes serve`), by the protocol of its clients:
// JSON-RPC over a WebSocket.
//
//	Find (the service's record, its port and its secret)  ->  Backend
//	Backend.Continue (session.resume, and only if Hermes
//	      has not taken the turn itself: prompt.submit)   ->  End
//
// It is the agent of a keeper: who may continue what, how often, and what is recorded is the keeper's affair, as with any
// other agent. It promises that a session which is at work gets no second prompt, that nothing is approved of, and that a
// connection which is lost is no end: what one launch of the backend was given of a turn stands on disk, and that launch
// is asked again.
//
// The secret of the backend stands in no error and in no record.
package serve
