package mockmodel

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResponsesInputForms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want []Input
	}{
		"text": {`{"stream":true,"input":"hello"}`, []Input{{"user", "hello"}}},
		"message of text": {
			`{"stream":true,"input":[{"role":"user","content":"hello"}]}`,
			[]Input{{"user", "hello"}},
		},
		"a tool's output as it came": {
			`{"stream":true,"input":[{"type":"function_call_output","call_id":"c","output":"ls"}]}`,
			[]Input{{"function_call_output", `{"type":"function_call_output","call_id":"c","output":"ls"}`}},
		},
		"part without text as it came": {
			`{"stream":true,"input":[{"role":"user","content":[{"type":"input_image","image_url":"x"}]}]}`,
			[]Input{{"input_image", `{"type":"input_image","image_url":"x"}`}},
		},
	} {
		q, err := responsesRead(nil, []byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, q.inputs); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestResponsesNotUnderstoodIsRefusedAndLogged(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`not json`:                    "decode responses request",
		`{"input":"x"}`:               "only streams are answered",
		`{"stream":true}`:             "decode input of responses request",
		`{"stream":true,"input":[3]}`: "decode input item of responses request",
		`{"stream":true,"input":[{"role":"user","content":3}]}`: "decode content of input item",
	} {
		s := start(t)
		if response := ask(t, s, body); response.status != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400", body, response.status)
		}
		if request := waitState(t, s, 1, Refused); !strings.Contains(request.Error, want) {
			t.Errorf("%s: logged error %q, want %q in it", body, request.Error, want)
		}
	}
}

func TestHalvesCutBetweenRunes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"": {"", ""}, "a": {"a", ""}, "abcd": {"ab", "cd"}, "äöü": {"äö", "ü"}, "你好": {"你", "好"},
	} {
		if first, second := halves(text); [2]string{first, second} != want {
			t.Errorf("halves(%q) = %q, %q, want %q", text, first, second, want)
		}
	}
}
