package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const follows = `
[metrics]
textfile = "~/${SET}$$/hermes.prom"

[notify]
command = ["~/bin/tell", "--token=$~x", "${EMPTY:-e}", ""]
events = ["parked", "gave-up"]
rate = 60
timeout = "10m"
`

func TestEveryKeyOfMetricsAndNoticesReachesItsField(t *testing.T) {
	t.Parallel()
	c, err := decode("f", follows, around(nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Metrics{Textfile: home + "//set$/hermes.prom"}, c.Metrics); diff != "" {
		t.Error(diff)
	}
	want := Notify{
		Command: []string{home + "/bin/tell", "--token=~x", "e", ""}, Events: []string{EventParked, EventGaveUp},
		Rate: 60, Timeout: Duration(10 * time.Minute),
	}
	if diff := cmp.Diff(want, c.Notify); diff != "" {
		t.Error(diff)
	}
	again(t, c)
	shown, err := c.WithoutSecrets().TOML()
	if err != nil || !strings.Contains(shown, `"--token=***"`) {
		t.Errorf("%v\n%s", err, shown)
	}
	if written, err := decode("f", follows, nil); err != nil || written.Notify.Command[0] != "~/bin/tell" {
		t.Errorf("as written: %+v, %v", written.Notify, err)
	}
}

func TestFaultsOfMetricsAndNotices(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[metrics]\ntextfile = 'hermes.prom'":         `f:2: metrics.textfile: must be an absolute path (~/ and ${NAME} are expanded), not "hermes.prom"`,
		"[metrics]\ntextfile = '/x/hermes.txt'":       `f:2: metrics.textfile: must end in NAME.prom, else the collector does not read it: "/x/hermes.txt"`,
		"[metrics]\ntextfile = '/x/.prom'":            `f:2: metrics.textfile: must end in NAME.prom, else the collector does not read it: "/x/.prom"`,
		"[metrics]\ntextfile = '/${UNSET}.prom'":      `f:2: metrics.textfile: the variable UNSET is not set (${UNSET:-} takes nothing for it)`,
		"[metrics]\ntextfile = \"/a\\u0000.prom\"":    `f:2: metrics.textfile: has a NUL character`,
		"[metrics]\nfile = '/x.prom'":                 `f:2: metrics.file: unknown key`,
		"metrics = true":                              `f:1: metrics: must be a table, not true or false`,
		"[notify]\ncommand = []":                      `f:2: notify.command: needs a command (as in command = ["/usr/local/bin/tell-me"])`,
		"[notify]\ncommand = ['./tell']":              `f:2: notify.command: element 1: must be an absolute path (~/ and ${NAME} are expanded) or a name in PATH`,
		"[notify]\ncommand = ['tell', '{{session}}']": `f:2: notify.command: element 2 "{{session}}": has a NUL character, or {{ although there are no placeholders: the event comes by stdin`,
		"[notify]\ncommand = ['tell', '$x']":          `f:2: notify.command: element 2 "$x": has a $ of its own (write $$ for it, ${NAME} for a variable)`,
		"[notify]\ncommand = 'tell'":                  `f:2: notify.command: must be an array of strings, not a string`,
		"[notify]\nevents = []":                       `f:2: notify.events: names no event: leave command out to be told nothing`,
		"[notify]\nevents = ['parkd']":                `f:2: notify.events: must be "gave-up", "parked", "crash-loop", "continued", not "parkd" (did you mean "parked"?)`,
		"[notify]\nevents = ['parked', 'parked']":     `f:2: notify.events: "parked" is there twice`,
		"[notify]\nrate = 0":                          `f:2: notify.rate: must be 1 to 60, not 0`,
		"[notify]\nrate = 61":                         `f:2: notify.rate: must be 1 to 60, not 61`,
		"[notify]\ntimeout = '0s'":                    `f:2: notify.timeout: must be above zero, not "0s"`,
		"[notify]\ntimeout = '11m'":                   `f:2: notify.timeout: must be at most 10m, not 11m`,
		"[notify]\ntimeout = 5":                       `f:2: notify.timeout: must be a duration in quotes (as in "15m"), not an integer`,
	} {
		if c, err := decode("f", text, around(nil)); err == nil || err.Error() != want {
			t.Errorf("%q:\n%v, not\n%s (%+v)", text, err, want, c.Notify)
		}
	}
}
