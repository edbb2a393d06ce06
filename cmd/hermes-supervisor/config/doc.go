// Package config finds, reads and checks hermes.toml, the file that says what an agent's name runs.
//
//	Find (-c, HERMES_SUPERVISOR_CONFIG, user's folder)  ->  Source
//	Load (safe open -> TOML -> tables -> checks)        ->  Config
//	Config.Agent("codex")                               ->  Agent
//
// State is data, configuration is authority: agents write into HERMES_HOME, so a state file only ever names an agent,
// and what that name runs is said here, in a file that agents are not expected to write. Hence the default file is never
// looked for inside HERMES_HOME or the working directory, and a file that somebody else could write is refused.
//
// It promises: every key is checked when the file is read, not when it is first needed; a bad file gives one line with
// file, line and key, the first fault in the order of the file; reading cannot block (pipes and devices are refused) and
// is bounded; nothing is ever written.
//
// It does not: look at the folders above the file's own, nor at macOS and NFSv4 access lists (POSIX ones show in the
// mode); check owner or access list on Windows at all; look for the programs that it names; read what this version has
// no table for (an unknown table is an error that says so).
package config
