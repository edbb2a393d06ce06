// Command desktop is the smallest app that brings its own hermes-supervisor: what a desktop app has to do, in any
// language, so that its services and turns are kept up while it runs and nothing is left when it is gone.
//
//	go run ./scripts/desktop -- hermes-supervisor -c hermes.toml
//
// It prints what becomes of its services, and ends when a line comes on its stdin, or the end of that.
//
//	app ---- starts ----> hermes-supervisor --json run --with-parent ---- starts ----> services, keepers
//	 |                      ^ stdin           | stdout
//	 +-- keeps the pipe ----+                 |
//	 +-- reads states, one JSON object a line-+
//
// An app does four things:
//
//   - It starts `hermes-supervisor --json run --with-parent` with a pipe as stdin (Node: stdio: ["pipe", "pipe",
//     "inherit"], Python: stdin=PIPE, stdout=PIPE) and keeps its end open. No other child of the app may inherit that end:
//     it would hold the pipe open. (Node, Python and Go see to that.) It is the end of the app that counts then.
//   - It reads lines from stdout. {"event":"service","service":"web","phase":"running"} tells of one service, and
//     {"event":"ready"} comes once, when every service runs and is ready, or rests as it is meant to. Who does not read
//     loses lines ({"event":"lost","lines":3}), and holds nothing up.
//   - To stop, it closes its end of the pipe and waits for the process to end, with exit code 0. That takes as long as the
//     services are given to stop (stop_timeout), and as long as a turn is given to finish (20 s). An app that cannot wait
//     just exits.
//   - It ends in no other way: when it crashes or is killed, the system closes the pipe, and the same stop follows. A turn
//     that was being worked on stays open in HERMES_HOME, and the next start continues it.
//
// An app that kills hermes-supervisor itself (SIGKILL, TerminateProcess) leaves its services and keepers alive, for the
// next start to take over: that is no way to stop them. On Windows they end with it.
package main
