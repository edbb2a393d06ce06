package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version of a release, "1.2.3", which its build sets:
//
//	go build -ldflags "-X main.release=1.2.3" ./cmd/hermes-supervisor
//
// Commit, date and whether the tree was changed come from Go's own stamp, which a build in a checkout has (-buildvcs). A build
// without a stamp, from an archive of the sources, sets commit too, and date as RFC 3339: -X main.commit=… -X main.date=….
var release, commit, date string

// build is what a program knows of its making; "" for what nobody told it.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Date    string `json:"date"`  // of the commit, RFC 3339
	Dirty   bool   `json:"dirty"` // built from a tree that differs from the commit
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// buildOf is looked up only where somebody asks: parsing the stamp costs every other command its time.
func buildOf() build {
	b := build{Version: release, Commit: commit, Date: date, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.Version = cmp.Or(b.Version, "unknown")
		return b
	}
	b.Version = cmp.Or(b.Version, info.Main.Version, "(devel)")
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, s.Value)
		case "vcs.time":
			b.Date = cmp.Or(b.Date, s.Value)
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
	return b
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and from what it was built",
		Long: `Prints the version, and with --json also the commit, its date, whether the tree was changed ("dirty"), and the Go version,
system and processor that it was built with and for. What a build does not know is "".`,
		Example: `  hermes-supervisor version
  hermes-supervisor version --json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	b := buildOf()
	if a.json {
		return a.printJSON(map[string]any{
			"version": b.Version, "commit": b.Commit, "date": b.Date, "dirty": b.Dirty, "go": b.Go, "os": b.OS, "arch": b.Arch,
		})
	}
	text := "hermes-supervisor version " + b.Version
	if b.Commit != "" {
		text += " (" + b.Commit
		if b.Dirty {
			text += ", changed"
		}
		text += ")"
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}
