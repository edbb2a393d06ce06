package config

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Ready is how a service shows that it is ready: exactly one of Output, File, TCP and HTTP is set.
type Ready struct {
	// Output is a Go regular expression that a line of output matches, under the rules of an agent's events.
	Output string `toml:"output,omitempty"`
	// File is an absolute path, or one that begins with {{home}}, at which a file appears.
	File string `toml:"file,omitempty"`
	// Match is a Go regular expression that the text of File has to match.
	Match string `toml:"match,omitempty"`
	// TCP is the HOST:PORT that takes a connection.
	TCP string `toml:"tcp,omitempty"`
	// HTTP is an http:// URL without a user that answers a GET with one of Status. Empty: any from 200 to 399.
	HTTP   string `toml:"http,omitempty"`
	Status []int  `toml:"status"`
	// Deadline is how long a start may take. Default: 1m.
	Deadline Duration `toml:"deadline"`
}

// Health is how a running service shows that it is not hung: exactly one of Heartbeat, TCP and HTTP is set.
type Health struct {
	// Heartbeat is a file, named as Ready.File is, whose time of change is never older than MaxAge, which has no default.
	Heartbeat string   `toml:"heartbeat,omitempty"`
	MaxAge    Duration `toml:"max_age,omitzero"`
	// Optional says that a heartbeat which has not been touched since the start says nothing.
	Optional bool `toml:"optional,omitempty"`
	// TCP, HTTP and Status are those of Ready.
	TCP    string `toml:"tcp,omitempty"`
	HTTP   string `toml:"http,omitempty"`
	Status []int  `toml:"status"`
	// Interval is the time between two checks. Default: 30s.
	Interval Duration `toml:"interval"`
	// Timeout is how long one check may take, not above Interval. Default: 5s.
	Timeout Duration `toml:"timeout"`
	// Failures is how many failed checks in a row are a hung service, 1 to 100. Default: 3.
	Failures int `toml:"failures"`
}

func defaultReady() *Ready { return &Ready{Deadline: Duration(time.Minute)} }

func defaultHealth() *Health {
	return &Health{Interval: Duration(30 * time.Second), Timeout: Duration(5 * time.Second), Failures: 3}
}

// under is what the keys of a table are set over: the defaults, or what a preset says, without its way of probing where
// the table has one of its own.
func (r *Ready) under(table any) *Ready {
	under := defaultReady()
	if r != nil {
		*under = *r
		if names(table, "output", "file", "tcp", "http") {
			*under = Ready{Deadline: r.Deadline}
		}
	}
	return under
}

// under is Ready's.
func (h *Health) under(table any) *Health {
	under := defaultHealth()
	if h != nil {
		*under = *h
		if names(table, "heartbeat", "tcp", "http") {
			*under = Health{Interval: h.Interval, Timeout: h.Timeout, Failures: h.Failures}
		}
	}
	return under
}

// names tells whether a raw table has one of the keys.
func names(table any, keys ...string) bool {
	t, _ := table.(map[string]any)
	return slices.ContainsFunc(keys, func(key string) bool { _, has := t[key]; return has })
}

// maxFailures is the highest number of failed checks in a row.
const maxFailures = 100

func (r Ready) check() *fault {
	if f := exactlyOne(way{"output", r.Output}, way{"file", r.File}, way{"tcp", r.TCP}, way{"http", r.HTTP}); f != nil {
		return f
	}
	if problem := checkPattern(r.Output); problem != "" {
		return &fault{key: "output", problem: problem}
	}
	if problem := checkPattern(r.Match); problem != "" {
		return &fault{key: "match", problem: problem}
	}
	if r.Match != "" && r.File == "" {
		return &fault{key: "match", problem: "belongs to file, which is not there"}
	}
	return checkAddress(r.TCP, r.HTTP, r.Status)
}

func (h Health) check() *fault {
	if f := exactlyOne(way{"heartbeat", h.Heartbeat}, way{"tcp", h.TCP}, way{"http", h.HTTP}); f != nil {
		return f
	}
	switch {
	case h.Heartbeat != "" && h.MaxAge == 0:
		return &fault{key: "max_age", other: "heartbeat", problem: `heartbeat needs a max_age (as in max_age = "2m")`}
	case h.Heartbeat == "" && h.MaxAge != 0:
		return &fault{key: "max_age", problem: "belongs to heartbeat, which is not there"}
	case h.Heartbeat == "" && h.Optional:
		return &fault{key: "optional", problem: "belongs to heartbeat, which is not there"}
	case h.Timeout > h.Interval:
		return &fault{
			key: "timeout", other: "interval",
			problem: fmt.Sprintf("timeout (%v) must not be above interval (%v)", h.Timeout, h.Interval),
		}
	case h.Failures < 1 || h.Failures > maxFailures:
		return &fault{key: "failures", problem: fmt.Sprintf("must be 1 to %d, not %d", maxFailures, h.Failures)}
	}
	return checkAddress(h.TCP, h.HTTP, h.Status)
}

// way is one key by which a service can be probed, "" where it is not set.
type way struct{ key, value string }

func exactlyOne(ways ...way) *fault {
	var keys, set []string
	for _, w := range ways {
		keys = append(keys, w.key)
		if w.value != "" {
			set = append(set, w.key)
		}
	}
	switch len(set) {
	case 0:
		return &fault{problem: "needs one of " + strings.Join(keys, ", ")}
	case 1:
		return nil
	}
	return &fault{key: set[1], problem: "cannot stand beside " + set[0] + ": one of " + strings.Join(keys, ", ")}
}

func checkAddress(tcp, http string, status []int) *fault {
	if tcp != "" {
		host, port, err := net.SplitHostPort(tcp)
		if n, notNumber := strconv.ParseUint(port, 10, 16); err != nil || host == "" || notNumber != nil || n == 0 {
			return &fault{key: "tcp", problem: fmt.Sprintf(`must be HOST:PORT (as in "127.0.0.1:8080"), not %.80q`, tcp)}
		}
	}
	if http != "" {
		u, err := url.Parse(http)
		switch { // the URL is not shown: it may hold a token
		case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
			return &fault{key: "http", problem: `must be a URL (as in "http://127.0.0.1:8080/health")`}
		case u.Scheme == "https":
			return &fault{key: "http", problem: "https is not supported: name an http:// address of this machine, or its port by tcp"}
		case u.User != nil:
			return &fault{key: "http", problem: "a user in the URL is not supported"}
		}
	}
	if http == "" && status != nil {
		return &fault{key: "status", problem: "belongs to http, which is not there"}
	}
	for _, code := range status {
		if code < 100 || code > 599 {
			return &fault{key: "status", problem: fmt.Sprintf("HTTP statuses are 100 to 599, not %d", code)}
		}
	}
	return nil
}

// checkPath says what is wrong with an expanded path, "" for an empty one.
func checkPath(path string) string {
	rest, placed := strings.CutPrefix(path, placeHome)
	placed = placed && (rest == "" || strings.HasPrefix(filepath.ToSlash(rest), "/"))
	if path == "" || placed || filepath.IsAbs(path) {
		return ""
	}
	return "must be an absolute path, or begin with ~/ or " + placeHome + "/"
}
