// Package mockmodel is a model provider made of cardboard: an HTTP server on a free port of 127.0.0.1 that answers a
// coding agent in the provider's own wire format, so that a real agent binary can be tested without a network, an
// account or a cost, and be killed at a chosen moment of an answer.
//
// It promises two things that a real provider cannot:
//
//   - the answer stops where the script says: after its first half it waits until it is released (Stall) or the
//     connection is closed (Cut), or the request is refused with a status;
//   - a log that is proof: every request with the full texts that it carried, and the time at which it came and at which
//     it was over, whether by our last byte or because the peer went away. Two agents at work at once show as two
//     requests that overlap.
//
// It does not judge what it is asked, keeps no conversation, runs no tools (it has the agent run one that the script
// names), checks no key, and never listens on anything but the loopback.
//
// Agents ask more than their turns need: a title for the session, the number of tokens, the list of models. Those take no
// answer from the script and are no part of its log; side.go tells them apart.
//
// One file per wire format, all served at once:
//
//	responses.go    OpenAI's Responses API         Codex
//	messages.go     Anthropic's Messages API       Claude Code
//	gemini.go       Google's Gemini API            Gemini CLI
//	completions.go  OpenAI's Chat Completions API  opencode, Goose, Hermes, Aider
package mockmodel
