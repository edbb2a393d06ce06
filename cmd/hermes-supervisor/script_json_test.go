package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

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

// waitLines FILE N waits until a file that others write has so many lines, or more.
func waitLines(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "waitlines FILE N")
	least, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(within(patience, func() (bool, error) {
		data, _ := os.ReadFile(ts.MkAbs(args[0]))
		return bytes.Count(data, []byte("\n")) >= least, nil
	}))
}
