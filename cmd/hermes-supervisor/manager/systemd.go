package manager

import (
	"fmt"
	"strings"
)

// watchdog is WatchdogSec: `run` says twice in it that its loop turns, and each step of the loop is bounded far below.
const watchdog = "60"

// SystemdUnit is the service file by which systemd (243 or later) runs a job; system is of the machine's own manager, else
// it is of the user's. The keys are those of systemd.service(5) and systemd.unit(5).
func SystemdUnit(j Job, system bool) string {
	whose, target := "each user's own home", "default.target"
	if j.Home != "" {
		whose = j.Home
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("[Unit]")
	line("Description=Agents' turns, services and handoffs (%s)", strings.ReplaceAll(whose, "%", "%%"))
	if system {
		target = "multi-user.target"
		line("Wants=network-online.target")
		line("After=network-online.target")
	}
	line("# Never given up: what a restart cannot mend ends with an exit code of RestartPreventExitStatus, and RestartSec is the")
	line("# floor of all others.")
	line("StartLimitIntervalSec=0")
	line("")
	line("[Service]")
	line("Type=notify")
	line("NotifyAccess=main")
	line("# The loop itself says that it turns. One that hangs is ended and started again; its services live on meanwhile.")
	line("WatchdogSec=%s", watchdog)
	line("ExecStart=%s", execLine(j.argv(FinalSystemd)))
	line("ExecReload=/bin/kill -HUP $MAINPID")
	if j.RunAs != "" {
		line("User=%s", j.RunAs)
	}
	if j.Search != "" {
		line("# The PATH of the shell that installed this, so that agents are found by their names.")
		line("Environment=%s", quoted("PATH="+j.Search))
	}
	line("# Anything but an ordered stop. 76 gave up, 77 not permitted, 78 configuration: a restart would find the same. (2 is not")
	line("# among them: it is also how a Go program ends that the watchdog has aborted. --final-exit turns a wrong command line,")
	line("# else 2, into 78.)")
	line("Restart=on-failure")
	line("RestartSec=5")
	line("RestartPreventExitStatus=76 77 78")
	line("# An ordered stop is ours: run ends its services and continued turns itself, tree by tree, and is done when nothing is left.")
	line("# When run dies otherwise, they are meant to live on, and the next run takes them over: control-group or mixed would")
	line("# kill a turn in the middle of its work.")
	line("KillMode=process")
	for _, text := range stopComment(j.Budget) {
		line("# %s", text)
	}
	line("TimeoutStopSec=%s", seconds(j.Budget.Total()))
	line("# A service that the kernel ends for want of memory is restarted by run; it is no reason to stop the others.")
	line("OOMPolicy=continue")
	line("")
	line("[Install]")
	line("WantedBy=%s", target)
	return mark("# ", "", b.String())
}

// stopComment says where the time of a stop comes from.
func stopComment(b Budget) []string {
	slowest := "no service"
	if b.Slowest != "" {
		slowest = fmt.Sprintf("services %s s (%s)", seconds(b.Services), b.Slowest)
	}
	handoffs := "no handoffs"
	if b.Handoffs > 0 {
		handoffs = fmt.Sprintf("handoffs %s s", seconds(b.Handoffs))
	}
	return []string{
		"Above what the ordered stop may take, whose parts run beside each other, the last kill included:",
		fmt.Sprintf("%s, continued turns %s s, %s; %s s to spare.", slowest, seconds(b.Turns), handoffs, seconds(b.Margin)),
	}
}

// execLine is a command line of ExecStart. A $ is doubled in arguments, but not in the program's path, where none is
// expanded (systemd.service(5), "Command lines").
func execLine(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		if i > 0 {
			arg = strings.ReplaceAll(arg, "$", "$$")
		}
		words[i] = quoted(arg)
	}
	return strings.Join(words, " ")
}

// quoted is one word as systemd.syntax(7) has it. Specifiers are escaped everywhere, quotes only put where they are needed.
func quoted(word string) string {
	word = strings.ReplaceAll(word, "%", "%%")
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return r == ' ' || r == '"' || r == '\'' || r == '\\' || r == ';' }) {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}
