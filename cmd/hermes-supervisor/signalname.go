package main

import (
	"fmt"
	"strconv"
	"strings"

	"hermes-supervisor/supervise/turn"
)

// signalNumber reads a signal as kill(1) takes it: TERM, SIGTERM or 15.
func signalNumber(text string) (int, error) {
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= 64 {
		return n, nil
	}
	if n, known := signalNames[strings.TrimPrefix(strings.ToUpper(text), "SIG")]; known {
		return int(n), nil
	}
	return 0, &turn.UsageError{Problem: fmt.Sprintf("%.40q is no signal (TERM, HUP, USR1, … or a number)", text)}
}
