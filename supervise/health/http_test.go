package health

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAStatusIsHealthyOrSaid(t *testing.T) {
	t.Parallel()
	requests := make(chan *http.Request, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/broken", http.StatusFound)
		case "/broken":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		default:
			_, _ = w.Write([]byte(strings.Repeat("x", 1<<20))) // a body that nobody reads
		}
	}))
	t.Cleanup(server.Close)
	for _, tc := range []struct {
		path      string
		status    []int
		unhealthy string
	}{
		{"", nil, ""},
		{"/ok?a=b%20c", nil, ""},
		{"/none", nil, ""},
		{"/moved", nil, ""},
		{"/broken", nil, "/broken: status 503"},
		{"/broken", []int{401, 503}, ""},
		{"/ok?token=secret", []int{204}, "/ok?…: status 200"},
	} {
		err := Probe{HTTP: server.URL + tc.path, Status: tc.status}.Check(patient(t), time.Now(), time.Time{})
		if tc.unhealthy != "" {
			says(t, err, "get "+server.URL+tc.unhealthy)
		} else if err != nil {
			t.Errorf("%s: %v", tc.path, err)
		}
		r := <-requests
		want := tc.path
		if want == "" {
			want = "/"
		}
		if r.Method != http.MethodGet || r.RequestURI != want || "http://"+r.Host != server.URL || !r.Close {
			t.Errorf("asked %s %s of %s (close: %v), want GET %s of %s", r.Method, r.RequestURI, r.Host, r.Close, want, server.URL)
		}
	}
	if len(requests) > 0 {
		t.Error("more was asked, after a redirect or again")
	}
}

func TestTheUserOfTheURLLogsInAndIsNotSaid(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, secret, _ := r.BasicAuth(); user != "u" || secret != "p:w" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	if err := (Probe{HTTP: "http://u:p%3Aw@" + host}).Check(patient(t), time.Now(), time.Time{}); err != nil {
		t.Error(err)
	}
	says(t, Probe{HTTP: "http://u:wrong@" + host + "/x"}.Check(patient(t), time.Now(), time.Time{}), "get http://"+host+"/x: status 401")
}

func TestWhatIsNoHTTPAnswerSaysSo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, answer, problem string }{
		{"old HTTP", "HTTP/1.0 200 OK\r\n", ""},
		{"no reason", "HTTP/1.1 204\r\n\r\n", ""},
		{"cut after the line", "HTTP/1.1 200 OK", ""},
		{"silence", "", "closed without an answer"},
		{"another protocol", "SSH-2.0-OpenSSH_9.9\r\n", `no HTTP answer: "SSH-2.0-OpenSSH_9.9"`},
		{"HTTP/2", "\x00\x00\x12\x04\x00\x00\x00\x00\x00\n", `no HTTP answer: "\x00\x00\x12`},
		{"four digits", "HTTP/1.1 2000 OK\r\n", "no HTTP answer"},
		{"a sign", "HTTP/1.1 +20 OK\r\n", "no HTTP answer"},
		{"no number", "HTTP/1.1 abc\r\n", "no HTTP answer"},
		{"nothing after it", "HTTP/1.1\r\n", "no HTTP answer"},
		{"informational", "HTTP/1.1 103 Early Hints\r\n\r\n", "status 103"},
		{"huge", "HTTP/1.1 200 " + strings.Repeat("x", maxStatusLine), "begins with a line above 1024 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			address := listen(t, func(c net.Conn) {
				_, _ = http.ReadRequest(bufio.NewReader(c))
				_, _ = io.WriteString(c, tc.answer)
				_ = c.Close()
			})
			err := Probe{HTTP: "http://" + address + "/x"}.Check(patient(t), time.Now(), time.Time{})
			if tc.problem != "" {
				says(t, err, "get http://"+address+"/x: ")
				says(t, err, tc.problem)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// Nothing is sent to the end of the test, but bytes without a line end: what is kept of them is bounded.
func TestAnEndlessLineIsNotRead(t *testing.T) {
	t.Parallel()
	sent := make(chan int, 1)
	address := listen(t, func(c net.Conn) {
		total := 0
		for part := make([]byte, 64<<10); ; {
			n, err := c.Write(part)
			if total += n; err != nil {
				sent <- total
				return
			}
		}
	})
	says(t, Probe{HTTP: "http://" + address}.Check(patient(t), time.Now(), time.Time{}), "above 1024 bytes")
	select {
	case total := <-sent:
		if total > 64<<20 {
			t.Errorf("%d bytes were taken", total)
		}
	case <-time.After(patience):
		t.Error("the connection is still open")
	}
}

func TestARefusedGETSaysSo(t *testing.T) {
	t.Parallel()
	says(t, Probe{HTTP: "http://" + refusing}.Check(patient(t), time.Now(), time.Time{}), "get http://"+refusing+": connection refused")
}

func TestAServerThatHangsIsLeftAtTheEndOfTheContext(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"silent": "", "within the line": "HTTP/1.1 20"} {
		address := listen(t, func(c net.Conn) { _, _ = io.WriteString(c, answer) })
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := Probe{HTTP: "http://" + address}.Check(ctx, time.Now(), time.Time{})
		cancel()
		says(t, err, "get http://"+address+": no answer in time")
		if t.Failed() {
			t.Error(name)
		}
	}
}

func TestAServerIsGivenFiveSeconds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		answers time.Duration
		problem string
	}{
		{"slow", 4 * time.Second, ""},
		{"hung", time.Hour, "get http://x/: no answer in time"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer theirs.Close()
				go func() {
					if _, err := http.ReadRequest(bufio.NewReader(theirs)); err != nil {
						t.Error(err)
					}
					time.Sleep(tc.answers)
					_, _ = io.WriteString(theirs, "HTTP/1.1 200 OK\r\n")
				}()
				began := time.Now()
				err := get(t.Context(), func(context.Context, string, string) (net.Conn, error) { return ours, nil }, "http://x/", nil)
				if took := time.Since(began); took != min(tc.answers, 5*time.Second) {
					t.Errorf("it took %s", took)
				}
				if tc.problem != "" {
					says(t, err, tc.problem)
				} else if err != nil {
					t.Error(err)
				}
				time.Sleep(tc.answers) // the server ends before its bubble
			})
		})
	}
}

// A proxy of the environment, and a server that a redirect names, are nobody's business here: nobody but the host of
// the URL is connected to, at port 80 where it names none.
func TestOnlyTheHostOfTheURLIsAsked(t *testing.T) {
	for _, name := range []string{"http_proxy", "HTTP_PROXY", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:9")
	}
	stop := errors.New("stop")
	for address, want := range map[string]string{
		"http://probe.example/x": "probe.example:80", "http://[::1]:81": "[::1]:81", "http://10.0.0.1:99/?q": "10.0.0.1:99",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		_, err = status(t.Context(), func(_ context.Context, network, address string) (net.Conn, error) {
			got = append(got, network+" "+address)
			return nil, stop
		}, u)
		if !errors.Is(err, stop) || len(got) != 1 || got[0] != "tcp "+want {
			t.Errorf("%s: connected to %q, want tcp %s (%v)", address, got, want, err)
		}
	}
}
