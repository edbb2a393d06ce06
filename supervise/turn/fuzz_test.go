package turn

import (
	"bytes"
	"testing"
	"time"

	"hermes-supervisor/fsstate"
)

// Whatever stands in the two small files of orders, reading them ends, and errs on the side that is stated: an order to
// pause that cannot be understood is in force, a stop request that cannot be understood stops nothing.

func FuzzPauseMark(f *testing.F) {
	f.Add([]byte(`{"version":1,"pause":{"on":true,"since":"2026-07-01T10:00:00Z"}}`))
	f.Add([]byte(`{"version":1,"pause":{"on":true,"since":"2026-07-01T10:00:00Z","until":"2026-07-01T11:00:00Z"}}`))
	f.Add([]byte(`{"version":1,"pause":{"on":false}}`))
	f.Add([]byte(`{"version":1,"pause":[]}`))
	f.Add([]byte(`{"version":1,"pause":null}`))
	f.Add([]byte(`{"version":1,"pause":{}}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(``))
	now := time.Date(2026, 7, 1, 10, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		p := decodePause(data)
		if p.Err != nil && !p.inForce(now) {
			t.Errorf("an order that cannot be read (%v) is not in force", p.Err)
		}
		doc, err := fsstate.DecodeDocument(data, pauseVersion)
		if err != nil && p.Err == nil {
			t.Errorf("no document (%v), and no error: %+v", err, p)
		}
		if err == nil && p.Err == nil && !bytes.Contains(doc["pause"], []byte("true")) && !bytes.Contains(doc["pause"], []byte("false")) {
			t.Errorf("an order that does not say whether it is on is understood: %s", doc["pause"])
		}
	})
}

func FuzzStopMark(f *testing.F) {
	f.Add([]byte(`{"version":1,"stop":{"session":"s","boot_id":"b","uptime_ns":5,"at":"2026-07-01T10:00:00Z"}}`))
	f.Add([]byte(`{"version":1,"stop":{"session":"s","uptime_ns":-9223372036854775808,"at":"0001-01-01T00:00:00Z"}}`))
	f.Add([]byte(`{"version":1,"stop":{"session":"s","at":"2026-07-01T09:00:00Z","renewed":{"at":"2026-07-01T10:00:00Z"}}}`))
	f.Add([]byte(`{"version":1,"stop":null}`))
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(``))
	now := Moment{BootID: "b", Uptime: time.Minute, Wall: time.Date(2026, 7, 1, 10, 0, 30, 0, time.UTC)}
	f.Fuzz(func(t *testing.T, data []byte) {
		mark, valid := decodeStopMark(data, now)
		if !valid {
			if mark != (stopMark{}) {
				t.Errorf("a mark that is not valid came with content: %+v", mark)
			}
			return
		}
		lives := mark.Moment
		if mark.Renewed != nil {
			lives = *mark.Renewed
		}
		if age, left := now.since(mark.Moment), now.since(lives); age < 0 || left < 0 || left > stopLife {
			t.Errorf("a mark of age %v, renewed %v ago, is valid", age, left)
		}
	})
}
