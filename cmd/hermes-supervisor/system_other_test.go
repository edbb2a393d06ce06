//go:build !linux

package main

// systemPrograms are programs that exist on this system only: none here, and the scripts that need one are skipped.
var systemPrograms = map[string]func(){}
