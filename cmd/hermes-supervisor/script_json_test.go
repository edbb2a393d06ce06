package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// waitJSON FILE PATH [= VALUE] waits until a JSON document that others write has that.
func waitJSON(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && (len(args) == 2 || len(args) == 4), "waitjson FILE PATH [= VALUE]")
	path := ts.MkAbs(args[0])
	err := within(patience, func() (bool, error) {
		data, err := os.ReadFile(path)
		if err != nil || !json.Valid(data) {
			return false, nil //nolint:nilerr // not there yet
		}
		v, found := lookUp(ts, args[0], args[1])
		return found && (len(args) == 2 || fmt.Sprint(v) == args[3]), nil
	})
	if err != nil {
		ts.Fatalf("%s of %s: %v", args[1], args[0], err)
	}
}
