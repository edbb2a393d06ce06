// Package turn protects turns: one prompt being worked on by an agent in one session.
//
// It promises that what an agent was asked to do is never lost, never worked on by two at once, and never started again
// once its end is on disk. A keeper (Keeper.Run, the `turn run` command) is the parent of the agent and the recorder of
// how the turn ended; everybody else looks at the same records, judges who lives by the same evidence, and asks policy
// the same questions.
//
//	admit --> launch ----> await -----> conclude --> finish (receipt, recorded outcome, removal)
//	  |       intended     |  running                concluded
//	  |       durable,     |
//	  |       then fork    +--> crashed --> policy --> launch again | wait | ended/ | left open
//	  |                    +--> drained --> left open
//	  +--> refused (75)    +--> taken ----> the agent is ended, nothing is written
//
// The rules that hold everywhere:
//   - A marker changes only under its session's lock, after a look at what is there; the keeper writes from its own
//     memory, since agents can write the file.
//   - The lock is kept from the decision to the recorded fork, so nobody finds a launch half done unless its keeper is
//     dead or stopped in the middle of it.
//   - A signal goes only to a process below this keeper, or, on a person's order, to what a verified record, a matching
//     identity and the process's own environment name together.
//
// It does not know the command line, and it holds no state that is not on disk.
package turn
