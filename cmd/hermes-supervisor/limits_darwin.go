package main

// limitsNote is what differs on this system. Not proven here: read from XNU's source, whose setrlimit refuses a limit of
// data below what the process has mapped already, and which counts every mapping.
const limitsNote = `
macOS counts the whole address space for --memory, and refuses a limit below what this program has mapped itself.
`
