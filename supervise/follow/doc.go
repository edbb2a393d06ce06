// Package follow reads what a home's journal tells, also of what happened while no supervisor was up, and makes two things
// of it: a file of metrics for node_exporter's textfile collector, and notices for a command of the user's.
//
//	journal.jsonl of each home --> tally  --> FILE.prom
//	                           \-> notice --> rate --> pending --> the command, one at a time
//
// Place, counts and what is pending lie in one file of the root home, supervisor/follow.json, and are replaced together
// before a command starts: an event is counted once and told once, over the death of the supervisor too. The command
// outlives that death, as a keeper does: the next supervisor waits for it, ends it at its limit, and says that nobody knows
// whether it has told. Where the stop cut it, it is run again by the next supervisor, with the same id.
//
// All of it is information. Agents can write the journal and that file, so nothing is decided by it: labels come from
// closed lists and from the configuration, texts are cut, and a flood is held back by the rate.
package follow
