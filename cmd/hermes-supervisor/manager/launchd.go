package manager

import (
	"strings"
	"time"
)

// GUIExitTimeOut is the longest ExitTimeOut that launchd keeps to in a user's gui domain.
const GUIExitTimeOut = 60 * time.Second

// Label is the launchd label of a unit's name.
func Label(name string) string { return "org." + name }

// LaunchdPlist is the property list by which launchd runs a job as a user's agent. The keys are those of launchd.plist(5).
func LaunchdPlist(j Job, name string) string {
	var b strings.Builder
	line := func(depth int, text string) {
		b.WriteString(strings.Repeat("  ", depth) + text + "\n")
	}
	key := func(depth int, name, value string) {
		line(depth, "<key>"+name+"</key>")
		line(depth, value)
	}
	text := func(s string) string { return "<string>" + escapeXML(s) + "</string>" }
	line(0, `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">`)
	line(0, `<plist version="1.0">`)
	line(0, "<dict>")
	key(1, "Label", text(Label(name)))
	line(1, "<key>ProgramArguments</key>")
	line(1, "<array>")
	for _, arg := range j.argv(FinalElsewhere) {
		line(2, text(arg))
	}
	line(1, "</array>")
	if j.Search != "" {
		line(1, "<!-- The PATH of the shell that installed this, so that agents are found by their names. -->")
		line(1, "<key>EnvironmentVariables</key>")
		line(1, "<dict>")
		key(2, "PATH", text(j.Search))
		line(1, "</dict>")
	}
	key(1, "RunAtLoad", "<true/>")
	line(1, "<!-- launchd cannot be told of exit codes: the argument final-exit has what a restart would not mend end with 0. -->")
	line(1, "<key>KeepAlive</key>")
	line(1, "<dict>")
	key(2, "SuccessfulExit", "<false/>")
	line(1, "</dict>")
	key(1, "ThrottleInterval", "<integer>10</integer>")
	for _, text := range stopComment(j.Budget) {
		for strings.Contains(text, "--") { // a service may be called so, and a comment of XML may not
			text = strings.ReplaceAll(text, "--", "- -")
		}
		line(1, "<!-- "+text+" -->")
	}
	line(1, "<!-- In the gui domain launchd waits 60 s at most, and then kills run alone: what it had not stopped yet lives on. -->")
	key(1, "ExitTimeOut", "<integer>"+seconds(j.Budget.Total())+"</integer>")
	line(1, "<!-- What run started lives on when run dies, and the next run takes it over; an ordered stop ends it itself. -->")
	key(1, "AbandonProcessGroup", "<true/>")
	line(1, "<key>SoftResourceLimits</key>")
	line(1, "<dict>")
	line(2, "<!-- launchd's own is 256, too few for an agent that watches a folder. -->")
	key(2, "NumberOfFiles", "<integer>4096</integer>")
	line(1, "</dict>")
	if j.Logs != "" {
		key(1, "StandardOutPath", text(j.Logs))
		key(1, "StandardErrorPath", text(j.Logs))
	}
	line(0, "</dict>")
	line(0, "</plist>")
	return xmlDeclaration("UTF-8") + mark("<!-- ", " -->", b.String())
}

func xmlDeclaration(encoding string) string {
	return `<?xml version="1.0" encoding="` + encoding + `"?>` + "\n"
}

// escapeXML is text between two tags. encoding/xml would bring a decoder's tables with it for five letters.
func escapeXML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(s)
}
