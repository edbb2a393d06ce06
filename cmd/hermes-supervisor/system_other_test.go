//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

// systemPrograms are programs that exist on this system only: none here, and the scripts that need one are skipped.
var systemPrograms = map[string]func(){}

// systemCommands are commands of scripts that exist on this system only: none here either.
var systemCommands = map[string]func(*testscript.TestScript, bool, []string){}
