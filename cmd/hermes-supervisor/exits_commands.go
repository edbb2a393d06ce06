package main

import "hermes-supervisor/supervise"

// exitsAsWritten are those of exitsOf; a code without a text has that of exitMeans.
func exitsAsWritten(path string) []exit {
	switch path {
	case "", "turn", "hooks", "handoff", "agents", "help", "completion", "install", "uninstall":
		return []exit{{0, "printed"}, {exitUsage, ""}, {exitState, "it could not be printed"}}
	case "version", "demo-agent":
		return []exit{{0, "done"}, {exitUsage, ""}, {exitState, "its output could not be written"}}

	case "turn run":
		return []exit{
			{0, "the turn concluded, and the agent's own exit code is 0"},
			{exitFailed, "the agent could not be started"},
			{exitUsage, ""},
			{exitState, ""},
			{exitBusy, "the session has a living owner; or the turn was left open"},
			{exitGaveUp, "tried too often, or too old: the turn is in ended/"},
			{exitNotPermitted, "the record of the dead turn does not verify"},
			{exitConfiguration, ""},
			{exitWaitRanOut, "--wait ran out"},
			{exitSignal, "ended by signal n: 130 interrupted; 143 shut down, the turn stays open"},
			{exitOwn, "any other: the agent's own, when the turn concluded; --outcome tells it from ours"},
		}
	case "turn resume":
		return []exit{
			{0, "each turn concluded with 0"},
			{exitFailed, "no such turn, or the agent could not be started"},
			{exitUsage, ""},
			{exitState, ""},
			{exitBusy, "a turn has a living owner, or was left open"},
			{exitGaveUp, "tried too often again: the turn is in ended/"},
			{exitNotPermitted, "a record does not verify: give the prompt again with turn run"},
			{exitConfiguration, ""},
			{exitWaitRanOut, "--wait ran out"},
			{exitSignal, "ended by signal n: 130 interrupted; 143 shut down, the turn stays open"},
			{exitOwn, "the agent's own; of several turns the highest code"},
		}
	case "turn begin":
		return []exit{
			{0, "recorded; under a keeper: the keeper's record knows the agent's session"},
			{exitFailed, "--rotated-from names a session without an open turn"},
			{exitUsage, "the command line is wrong, or --pid is no ancestor that is an agent"},
			{exitState, ""},
			{exitBusy, "the session has a turn with a living owner, or a lock is held"},
			{exitConfiguration, ""},
		}
	case "turn end":
		return []exit{{0, "no reported turn of the session is open any more"}, {exitFailed, ""}, {exitUsage, ""}, {exitState, ""}, {exitBusy, ""}, {exitConfiguration, ""}}
	case "turn interrupt":
		return []exit{
			{0, "the session is free, or no turn was open"},
			{exitFailed, "the order could not be carried out"},
			{exitUsage, ""},
			{exitState, ""},
			{exitBusy, ""},
			{exitConfiguration, ""},
			{exitWaitRanOut, "something of it still lives after --wait; the order is recorded and stays"},
		}
	case "turn clear":
		return []exit{
			{0, "moved to ended/"},
			{exitFailed, "the session has no open turn"},
			{exitUsage, ""},
			{exitState, ""},
			{exitBusy, "its keeper or agent lives, or nobody can tell: see --force"},
			{exitConfiguration, ""},
		}
	case "turn list":
		return []exit{{0, "listed, also where there are none"}, {exitUsage, ""}, {exitState, "some records could not be read; the others are listed"}, {exitConfiguration, ""}}
	case "turn show", "explain":
		return []exit{{0, "shown"}, {exitFailed, "the session has no open turn"}, {exitUsage, ""}, {exitState, ""}, {exitConfiguration, ""}}

	case "hook":
		return []exit{{0, "always: an agent may take any other for a refusal"}}
	case "hooks install", "hooks uninstall":
		return []exit{
			{0, "done, or nothing was to change"},
			{exitFailed, "the settings cannot be changed without changing their form: they were left alone"},
			{exitUsage, "the command line is wrong, or nothing is known of the agent's hooks"},
			{exitState, ""},
			{exitConfiguration, ""},
		}
	case "hooks status":
		return []exit{
			{0, "told, also where none is installed"},
			{exitFailed, "the settings could not be understood"},
			{exitUsage, "the command line is wrong, or nothing is known of the agent's hooks"},
			{exitState, ""},
			{exitConfiguration, ""},
		}
	case "agents list":
		return []exit{{0, "listed"}, {exitUsage, ""}, {exitState, ""}, {exitConfiguration, ""}}
	case "agents show":
		return []exit{{0, "shown"}, {exitUsage, ""}, {exitState, ""}, {exitConfiguration, "hermes.toml has a fault, or there is no agent of that name"}}

	case "handoff request":
		return []exit{
			{0, "requested; with --wait: completed"},
			{exitFailed, "with --wait: it has failed"},
			{exitUsage, ""},
			{exitState, ""},
			{exitBusy, "the session has an open handoff, or an open turn (see --after-turn)"},
			{exitNotPermitted, "the record of an earlier request does not verify"},
			{exitConfiguration, "hermes.toml has a fault or no such platform, or nothing can be signed"},
			{exitWaitRanOut, "a wait ran out; the request stands"},
		}
	case "handoff retry":
		return []exit{
			{0, "pending again; with --wait: completed"},
			{exitFailed, "no such handoff, it has not failed, or with --wait: it has failed again"},
			{exitUsage, ""},
			{exitState, ""},
			{exitBusy, "its session has another open handoff, or it is being delivered"},
			{exitNotPermitted, "its record does not verify"},
			{exitConfiguration, ""},
			{exitWaitRanOut, "a wait ran out; the request stands"},
		}
	case "handoff list":
		return []exit{{0, "listed, also where there are none"}, {exitUsage, ""}, {exitState, "some records could not be read; the others are listed"}, {exitConfiguration, ""}}
	case "handoff show":
		return []exit{{0, "shown"}, {exitFailed, "no such handoff"}, {exitUsage, "the command line is wrong, or the ID fits several"}, {exitState, ""}, {exitConfiguration, ""}}
	case "handoff cancel":
		return []exit{
			{0, "it has failed, as cancelled"},
			{exitFailed, "no such handoff, or it was completed all the same"},
			{exitUsage, ""},
			{exitState, ""},
			{exitBusy, "nobody can tell whether who delivers it lives"},
			{exitNotPermitted, "its record does not verify"},
			{exitConfiguration, ""},
			{exitWaitRanOut, "it is still being delivered after --wait; the order stands"},
		}
	case "handoff claim":
		return []exit{
			{0, "claimed: printed as JSON"},
			{exitFailed, ""},
			{exitUsage, ""},
			{exitState, ""},
			{exitBusy, "none waits"},
			{exitConfiguration, "hermes.toml has a fault or no such platform, or nothing can be signed"},
			{exitWaitRanOut, "none came within --wait"},
		}
	case "handoff complete", "handoff fail":
		return []exit{
			{0, "recorded, now or before"},
			{exitFailed, "no such handoff, or the claim has it no more"},
			{exitUsage, ""},
			{exitState, ""},
			{exitBusy, ""},
			{exitNotPermitted, "its record does not verify"},
			{exitConfiguration, ""},
		}
	case "handoff heartbeat":
		return []exit{
			{0, "go on"},
			{exitFailed, "the claim has it no more: stop"},
			{exitUsage, ""},
			{exitState, ""},
			{exitBusy, "it is to be cancelled: stop, and call handoff fail"},
			{exitNotPermitted, "its record does not verify"},
			{exitConfiguration, ""},
		}
	case "handoff deliver":
		return []exit{
			{0, "delivered"},
			{exitFailed, "it has failed, or there is no such handoff"},
			{exitUsage, ""},
			{exitState, ""},
			{exitBusy, "somebody else delivers it, or it cannot be delivered now"},
			{exitNotPermitted, "its record does not verify"},
			{exitConfiguration, ""},
			{exitSignal, "ended by signal n"},
		}
	case "handoff watch":
		return []exit{
			{0, "stopped in order"},
			{exitFailed, ""},
			{exitUsage, "the command line is wrong, or hermes.toml has no platform"},
			{exitState, ""},
			{exitBusy, "the home has a run or a watch already"},
			{exitConfiguration, ""},
		}

	case "run":
		return []exit{
			{0, "stopped in order"},
			{exitFailed, ""},
			{exitUsage, "the command line is wrong, or there is nothing to run"},
			{exitState, ""},
			{exitBusy, "another run has these services"},
			{exitConfiguration, ""},
			{exitOwn, "the code of the command line after --, where that ended by itself (128+n: by signal n)"},
		}
	case "install systemd", "install launchd", "install windows-task":
		return []exit{
			{0, "installed and started, or nothing to change"},
			{exitFailed, "a file in its place is not ours or was changed by hand, or the manager's own command failed"},
			{exitUsage, "the command line is wrong, or no unit can hold a path"},
			{exitState, ""},
			{exitBusy, "something else already runs this home"},
			{exitConfiguration, ""},
		}
	case "uninstall systemd", "uninstall launchd", "uninstall windows-task":
		return []exit{
			{0, "gone, or not there"},
			{exitFailed, "the file in its place is not ours, or nobody can say that its run has ended"},
			{exitUsage, ""},
			{exitState, ""},
			{exitConfiguration, ""},
		}
	case "doctor":
		return []exit{{0, "no problem; there may be warnings"}, {exitFailed, "a problem, each with what mends it"}, {exitUsage, ""}}
	case "lock-try":
		return []exit{{0, "answered"}, {exitFailed, ""}, {exitUsage, ""}}
	case "sweep":
		return []exit{{0, "removed, or nothing to remove"}, {exitFailed, ""}, {exitUsage, ""}, {exitState, ""}, {exitConfiguration, ""}}
	case "status":
		return []exit{{0, "everything that should be up is up; with --health: run is alive"}, {exitFailed, "something is not, or run is down"}, {exitUsage, ""}, {exitState, ""}, {exitConfiguration, ""}}
	case "logs":
		return []exit{{0, "printed"}, {exitFailed, ""}, {exitUsage, "the command line is wrong, or no such service was ever run"}, {exitState, ""}, {exitConfiguration, ""}, {exitSignal, "ended by signal n (130: Ctrl-C ends -f)"}}
	case "events":
		return []exit{{0, "printed"}, {exitFailed, ""}, {exitUsage, ""}, {exitState, ""}, {exitSignal, "ended by signal n (130: Ctrl-C ends -f)"}}
	case supervise.OpStart, supervise.OpStop, supervise.OpRestart:
		return []exit{
			{0, "carried out; while run is down: recorded for the next run"},
			{exitFailed, "it could not be carried out"},
			{exitUsage, "the command line is wrong, or there is no such service"},
			{exitState, ""},
			{exitBusy, "nobody can tell whether run lives, or it does not answer"},
			{exitNotPermitted, "the service's record does not verify"},
			{exitConfiguration, ""},
			{exitWaitRanOut, "not carried out yet after --wait; the order stands"},
		}
	case "signal":
		return []exit{
			{0, "sent"},
			{exitFailed, "the service does not run"},
			{exitUsage, "the command line is wrong, or there is no such service"},
			{exitState, ""},
			{exitBusy, "run is down, or does not answer"},
			{exitConfiguration, ""},
		}
	case supervise.OpReload, supervise.OpApply:
		return []exit{
			{0, "done"},
			{exitFailed, ""},
			{exitUsage, ""},
			{exitState, ""},
			{exitBusy, "run is down, or does not answer"},
			{exitConfiguration, "hermes.toml has a fault: what ran before runs on"},
		}
	case "pause", "unpause":
		return []exit{{0, "done"}, {exitFailed, ""}, {exitUsage, ""}, {exitState, ""}, {exitBusy, ""}, {exitConfiguration, ""}}
	case "check":
		return []exit{{0, "hermes.toml is in order"}, {exitUsage, ""}, {exitState, "it could not be read"}, {exitConfiguration, "it has a fault, which is named with file, line and key"}}
	case "demo":
		return []exit{{0, "the agent finished its work"}, {exitFailed, "the demo did not go as it should"}, {exitUsage, ""}, {exitState, ""}}

	case "serve-turn":
		return []exit{
			{0, "the turn has ended in Hermes"},
			{exitFailed, "it has ended with an error"},
			{exitUsage, ""},
			{exitLost, "the backend was lost: to be tried again"},
			{exitState, ""},
			{exitBusy, "Hermes refused it"},
			{130, "interrupted"},
		}
	case "exec-with-limits":
		return []exit{
			{exitUsage, ""},
			{exitConfiguration, "a limit cannot be set"},
			{exitNotExecutable, "the program cannot be run"},
			{exitNotFound, "there is no such program"},
			{exitOwn, "the program's own, in whose place it runs"},
		}
	}
	if wrapperOf(path+":") != "" {
		return []exit{
			{exitUsage, "there is no such program"},
			{exitConfiguration, "hermes.toml has a fault"},
			{exitOwn, "the agent's own; what cuts a turn short is as with turn run: 75, 76, 77, 124, 128+n"},
		}
	}
	return nil
}
