package main

// limitsNote is what differs on this system.
const limitsNote = ""
