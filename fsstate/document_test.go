package fsstate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDecodeDocumentRefusesWhatCouldMeanTwoThings(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"is empty":                "",
		"is empty ":               " \n",
		"is not an object":        `[1]`,
		"is not an object ":       `null`,
		"is not an object  ":      `"version"`,
		"is not JSON":             `{"version":1`,
		"is not JSON ":            "\xef\xbb\xbf{\"version\":1}",
		"is not JSON  ":           "\x00\x00\x00\x00",
		"is not JSON   ":          `{"version":1,"a":NaN}`,
		"is not JSON    ":         `{"version":1,"a":}`,
		"is not JSON     ":        `{"version" 1}`,
		"is not UTF-8":            "{\"version\":1,\"a\":\"\xff\"}",
		"has trailing data":       `{"version":1}{}`,
		"has trailing data ":      `{"version":1} x`,
		"is nested deeper than":   `{"version":1,"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
		"is nested deeper than ":  strings.Repeat(`{"a":`, 200_000),
		`has key "a" twice`:       `{"version":1,"a":1,"a":2}`,
		`has key "version" twice`: `{"version":1,"version":1}`,
		`has key "VERSION", which differs from "version"`: `{"VERSION":1,"version":1}`,
		`has key "Version", which differs from "version"`: `{"Version":1}`,
		`has key "MAC", which differs from "mac"`:         `{"version":1,"MAC":""}`,
		`has key "STATE", which differs from "state"`:     `{"version":1,"state":1,"STATE":2}`,
		`has key "ſtate", which differs from "state"`:     `{"version":1,"state":1,"ſtate":2}`,
		`has key "a", which differs from "A"`:             `{"version":1,"A":1,"\u0061":2}`,
		"has no version":                                  `{"a":1}`,
		"has a version that is no whole number":           `{"version":"1"}`,
		"has a version that is no whole number ":          `{"version":1.0}`,
		"has a version that is no whole number  ":         `{"version":null}`,
	} {
		d, err := DecodeDocument([]byte(text), 1)
		corrupt, ok := errors.AsType[*CorruptError](err)
		if !ok || d != nil || !strings.Contains(corrupt.Problem, strings.TrimRight(name, " ")) {
			t.Errorf("%.60q: %v, want %q", text, err, name)
		}
	}
}

func TestUnknownVersionIsSaidNotGuessed(t *testing.T) {
	t.Parallel()
	for _, found := range []string{"2", "0", "-1"} {
		_, err := DecodeDocument([]byte(`{"version":`+found+`,"x":1}`), 1)
		v, ok := errors.AsType[*VersionError](err)
		if !ok || v.Known != 1 || !strings.Contains(err.Error(), "version "+found) {
			t.Errorf("%s: %v", found, err)
		}
	}
}

func TestUnknownFieldsSurviveARewrite(t *testing.T) {
	t.Parallel()
	const text = `{"version":1,"zeta":{"b":1,"a":[9007199254740993,1e400]},"alpha":"\ud800<&>","prompt":"x"}`
	d, err := DecodeDocument([]byte(text), 1)
	if err != nil {
		t.Fatal(err)
	}
	d["prompt"] = json.RawMessage(`"y"`)
	out, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "alpha": "\ud800<&>",
  "prompt": "y",
  "version": 1,
  "zeta": {
    "b": 1,
    "a": [
      9007199254740993,
      1e400
    ]
  }
}
`
	if string(out) != want {
		t.Errorf("encoded as\n%s", out)
	}
}

func TestEncodeRefusesAFieldThatIsNoJSON(t *testing.T) {
	t.Parallel()
	d := Document{"version": json.RawMessage("1"), "bad": json.RawMessage(`{`)}
	if _, err := d.Encode(); err == nil || !strings.Contains(err.Error(), `"bad"`) {
		t.Errorf("Encode: %v", err)
	}
	d.Seal([]byte("key"), "")
	if d.Verify([]byte("key"), "") {
		t.Error("verified what cannot be written")
	}
}

func TestEncodeIsDeterministicAndReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := Document{"version": json.RawMessage("1")}
		for key, value := range rapid.MapOf(rapid.StringMatching(`[a-z_ "\\/<é]{1,8}`), rapid.String()).Draw(t, "fields") {
			if key != versionKey && key != macKey {
				d[key], _ = json.Marshal(value)
			}
		}
		first, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeDocument(first, 1)
		if err != nil || len(back) != len(d) {
			t.Fatalf("%v of %s", err, first)
		}
		if second, err := back.Encode(); err != nil || string(second) != string(first) {
			t.Fatalf("%v:\n%s\n%s", err, first, second)
		}
	})
}

func FuzzDecodeDocument(f *testing.F) {
	f.Add([]byte(`{"version":1,"a":[{"b":"\u0000"}]}`))
	f.Add([]byte(`{"version":1,"a":"\\"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := DecodeDocument(data, 1)
		if err != nil {
			return
		}
		text, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeDocument(text, 1); err != nil {
			t.Fatalf("%v of %s", err, text)
		}
	})
}

func sealed(t *testing.T, key []byte) Document {
	t.Helper()
	d, err := DecodeDocument([]byte(`{"version":1,"prompt":"do it","attempts":0}`), 1)
	if err != nil {
		t.Fatal(err)
	}
	d.Seal(key, "turn /home/a")
	return d
}

func TestSealHoldsOverARewriteOnly(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef0123456789abcdef")
	text, err := sealed(t, key).Encode()
	if err != nil {
		t.Fatal(err)
	}
	verify := func(text []byte, key []byte, context string) bool {
		d, err := DecodeDocument(text, 1)
		return err == nil && d.Verify(key, context)
	}
	if !verify(text, key, "turn /home/a") {
		t.Error("does not verify")
	}
	if !verify([]byte(strings.ReplaceAll(string(text), "\n", "\r\n  ")), key, "turn /home/a") {
		t.Error("white space counts")
	}
	if verify(text, []byte("another key"), "turn /home/a") || verify(text, nil, "turn /home/a") {
		t.Error("verifies with another key")
	}
	if verify(text, key, "turn /home/b") || verify(text, key, "") {
		t.Error("verifies in another context")
	}
	for i := range text {
		changed := append([]byte{}, text...)
		changed[i] ^= 1
		d, err := DecodeDocument(changed, 1)
		if err != nil || !d.Verify(key, "turn /home/a") {
			continue
		}
		if again, err := d.Encode(); err != nil || string(again) != string(text) {
			t.Errorf("byte %d changed and still verifies: %s", i, changed)
		}
	}
}

func TestVerifyIsFalseWithoutASeal(t *testing.T) {
	t.Parallel()
	key := []byte("key")
	for _, mac := range []string{"", `""`, `null`, `1`, `"zz"`, `"00"`} {
		d := Document{"version": json.RawMessage("1")}
		if mac != "" {
			d[macKey] = json.RawMessage(mac)
		}
		if d.Verify(key, "") || d.Verify(nil, "") {
			t.Errorf("mac %s verifies", mac)
		}
	}
	d := sealed(t, key)
	d.Seal(nil, "turn /home/a")
	if _, ok := d[macKey]; ok {
		t.Error("an empty key seals")
	}
	// What stands behind the context must not be able to move into it.
	d = sealed(t, key)
	d.Seal(key, "x")
	if d.Verify(key, "x\n{") || d.Verify(key, "") {
		t.Error("context reaches into the document")
	}
}
