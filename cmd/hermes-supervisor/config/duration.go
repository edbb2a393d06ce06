package config

import (
	"fmt"
	"strings"
	"time"
)

// Duration is a positive span of time, in the file a string as time.ParseDuration reads it: "90s", "15m", "1h30m".
type Duration time.Duration

// UnmarshalText reads the file's form. The error is one phrase for people.
func (d *Duration) UnmarshalText(text []byte) error {
	var w Wait
	if err := w.UnmarshalText(text); err != nil {
		return err
	}
	if w == 0 {
		return fmt.Errorf("must be above zero, not %.40q", text)
	}
	*d = Duration(w)
	return nil
}

// Wait is a Duration that may be zero: no wait.
type Wait time.Duration

// UnmarshalText reads the file's form. The error is one phrase for people.
func (w *Wait) UnmarshalText(text []byte) error {
	span, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf(`%.40q is no duration (as in "90s", "15m", "1h30m")`, text)
	}
	if span < 0 {
		return fmt.Errorf("must not be below zero: %.40q", text)
	}
	*w = Wait(span)
	return nil
}

// MarshalText is the file's form.
func (w Wait) MarshalText() ([]byte, error) { return Duration(w).MarshalText() }

// String is that of a Duration.
func (w Wait) String() string { return Duration(w).String() }

// MarshalText is the file's form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is the shortest form that the file accepts: "15m", where time.Duration says "15m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
