package ident

// Unlaunched is the identity of a launch that has not happened yet, or whose pid was not recorded: an instance without a
// pid, in the boot and namespace of the process that launches it.
func Unlaunched(launcher Ident, instance string) Ident {
	launcher.PID, launcher.Start, launcher.Instance = 0, 0, instance
	return launcher
}

// Launched is the identity of a process that has just been started for the unlaunched one. Of one that is gone already
// it keeps Start 0, which no living process has.
func Launched(pid int, unlaunched Ident) Ident {
	id, err := Of(pid, unlaunched.Instance)
	if err != nil {
		unlaunched.PID = pid
		return unlaunched
	}
	return id
}
