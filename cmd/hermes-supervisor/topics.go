package main

import "github.com/spf13/cobra"

// The texts of the topics that `help` has beside the commands. README.md has both too, and a test compares them.

const exitCodesText = `  0    done
  1    failed
  2    usage: the command line or the request is wrong; nothing was written
  74   state could not be read or written
  75   busy, try again later: a living owner, a pause, a lock, a receipt that is due, an open handoff; or the turn was left
       open
  76   gave up: attempts exhausted or too old; the turn is in ended/
  77   not permitted: the record does not verify
  78   configuration
  124  --wait ran out
  128+n  ended by signal n (130: interrupted; 143: shut down, the turn stays open)

turn run returns the agent's own code when the turn concluded; --outcome FILE tells the two apart. Each command's --help
names the codes that it may return.`

const filesText = `The whole state is a folder of small JSON files that you can read with cat, below HERMES_HOME (--home, else $HERMES_HOME,
else ~/.hermes and its active profile):

  supervisor/                    yours alone: folders 0700, files 0600
    turns/<name>.json            an open turn: prompt, phase, attempts, keeper and owner by pid, start time and boot
    ended/<name>-<time>.json     turns given up or replaced, for 7 days; turn resume brings them back
    outcomes/<name>.json         how a request with an --id ended, and how Hermes's own turns did
    services/<name>.json         a service: what was ordered, its phase, restarts, process and supervisor
    requests/                    orders for a running supervisor; stop requests that found no turn; the pause
    run/<instance>.in .out .err  an agent's stdin and output, locked while it or a descendant keeps them: the witness
                                 (a keeper and a receipt have an .in of their own, which is empty);
                                 .session says whose it is, .prompt is there where arguments ask for {{prompt_file}}
    locks/00.lock … ff.lock      flock stripes
    tmp/                         new versions before their rename
    supervisor.json              which process is the run of this home; the time of its .in in run/ is its heartbeat
    journal.jsonl                every transition, one line each, never a prompt
    follow.json                  how far it has been read for metrics and notices, and what was counted
    log/<service>/               out and err, and their archives by byte range, with a total bound
    handoffs/<id>.json           an open handoff: session, platform, note, data, who claimed it
    handed/<id>.json             one that has ended, for the configured retention

<name> is the session's key where that can be a file's name, else = and its SHA-256; the key itself is inside. What could
not be read is set aside as *.corrupt-<time>. A profile has a supervisor/ of its own, in profiles/NAME.

Configuration is never in there, since agents write there. It is in your configuration folder (~/.config on Linux,
~/Library/Application Support on macOS, %AppData% on Windows):

  hermes-supervisor/hermes.toml  the configuration (-c, else $HERMES_SUPERVISOR_CONFIG, names another): see check
  hermes-supervisor/key          the key with which records are signed; made when first needed, beside hermes.toml

Hermes's own desktop/interrupted_turns.json is read; it is written only while no Hermes of that home lives.`

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesText}
}

func filesTopic() *cobra.Command {
	return &cobra.Command{Use: "files", Short: "What is on disk, and where", Long: filesText}
}
