// Package hooks reads what agents write to their hooks, and adds our hooks to the settings of agents.
//
//	stdin of a hook  --> Read   --> the few values that a turn needs
//	[agent.NAME.hooks] --> Target --> Install, Uninstall, Status of a settings file, or of a plugin's files
//
// What differs from agent to agent is data of the configuration (config.Hooks): this package knows formats, not agents.
//
// It promises: reading cannot hang and is bounded; a settings file keeps everything else that is in it, with its order,
// comments and layout, and is replaced whole or not at all; what was installed is taken out again byte for byte; a file
// whose form cannot be kept is left alone, with an error that says what to add by hand.
//
// It does not decide what an event means, and it starts nothing.
package hooks
