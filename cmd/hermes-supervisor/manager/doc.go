// Package manager makes the units by which a service manager (systemd, launchd, Windows's Task Scheduler) runs `run`, and
// finds those that are installed: ours, and Hermes's own for the same home.
//
//	hermes.toml ──► Job ──► Unit | Plist | Task      text, nothing is written
//	folders     ──► Installed (ours), Rivals (Hermes's own)
//
// It runs no program and writes no file. What was found in a file that could not be understood is told as if it served
// the home in question: only what is known to serve another home is passed over.
package manager
