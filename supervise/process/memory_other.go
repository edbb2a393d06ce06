//go:build !linux

package process

// The system unmaps the pages of a program that idles by itself when it needs them; nobody here to ask for it.
func dropProgramPages() {}
