// Package config finds, reads and checks hermes.toml, the file that says what an agent's name runs, which services are
// kept up, and how a session is handed to another platform.
//
//	Find (-c, HERMES_SUPERVISOR_CONFIG, user's folder)  ->  Source
//	Load (safe open -> TOML -> tables -> checks
//	      -> ~, ${NAME}, env files)                     ->  Config
//	Config.Agent("codex")                               ->  Agent
//	Config.Platform("telegram")                         ->  Platform
//	Config.Services[i].At(home, profile)                ->  Service of one home
//	Config.TOML, Config.Tree                            ->  what `check` prints
//
// State is data, configuration is authority: agents write into HERMES_HOME, so a state file only ever names an agent,
// and what that name runs is said here, in a file that agents are not expected to write. Hence the default file is never
// looked for inside HERMES_HOME or the working directory, and a file that somebody else could write is refused.
//
// It promises: every key is checked when the file is read, not when it is first needed; a bad file gives one line with
// file, line and key, the first fault in the order of the file ([restart], on which services build, and the keys of
// [handoff], on which its platforms do, go before them); reading cannot block (pipes and devices are refused) and is
// bounded; nothing is ever written; no error shows the value of a variable or a line of an env file.
//
// It does not: look at the folders above the file's own, nor at macOS and NFSv4 access lists (POSIX ones show in the
// mode); check owner or access list on Windows at all; look for the programs that it names; read what this version has
// no table for (an unknown table is an error that says so).
//
// # Expansion
//
// In a service's command, cwd, env, env_file, ready.file and health.heartbeat, and nowhere else (those of an agent and
// of a platform are taken as they are): ~ or ~/ at the start is the user's home folder; ${NAME} is a variable of the
// supervisor's own environment, which has to be set, ${NAME:-default} one that need not be, or may be empty; $$ is a
// literal $ and $~ a literal ~. A $ is nothing else: it is an error. {{home}} and {{profile}} are left for Service.At.
// Each is replaced once, and what comes in its place is not looked at again. The contents of env files are taken as they
// are.
package config
