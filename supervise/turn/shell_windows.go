package turn

// shell runs a command line that a person gave as one string.
func shell(command string) []string { return []string{"cmd.exe", "/d", "/s", "/c", command} }
