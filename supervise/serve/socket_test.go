package serve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
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

	"github.com/coder/websocket"
)

// listen serves one connection, and gives its port.
func listen(t *testing.T, serve func(conn net.Conn, in *bufio.Reader)) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		serve(conn, bufio.NewReader(conn))
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// shake answers the handshake as a WebSocket.
func shake(conn net.Conn, in *bufio.Reader) error {
	req, err := http.ReadRequest(in)
	if err != nil {
		return err
	}
	sum := sha1.Sum([]byte(req.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+
		base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
	return err
}

// frames are what a server sends after the handshake; then it reads until the client is gone.
func frames(t *testing.T, text string) (port string) {
	t.Helper()
	return listen(t, func(conn net.Conn, in *bufio.Reader) {
		if shake(conn, in) == nil {
			_, _ = io.WriteString(conn, text)
			_, _ = io.Copy(io.Discard, in)
		}
	})
}

func TestMessagesAreReadHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	long, longer := strings.Repeat("a", 126), strings.Repeat("b", 1<<16)
	for name, c := range map[string]struct{ frames, want string }{
		"one frame":               {"\x81\x02hi", "hi"},
		"binary":                  {"\x82\x02hi", "hi"},
		"empty":                   {"\x81\x00", ""},
		"of 126 bytes":            {"\x81\x7e\x00\x7e" + long, long},
		"of 64 KiB":               {"\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00" + longer, longer},
		"three frames":            {"\x01\x02ab\x00\x00\x80\x02cd", "abcd"},
		"a ping in between":       {"\x01\x02ab\x89\x01!\x80\x02cd", "abcd"},
		"a pong nobody asked for": {"\x8a\x00\x81\x02hi", "hi"},
	} {
		s, err := open(t.Context(), frames(t, c.frames), "/")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.read(t.Context()); err != nil || string(got) != c.want {
			t.Errorf("%s: %.20q, %v", name, got, err)
		}
		_ = s.conn.Close()
	}
}

func TestBrokenFramesEndTheConversation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ frames, want string }{
		"masked by a server":     {"\x81\x82\x00\x00\x00\x00hi", "RFC 6455"},
		"an extension's":         {"\xc1\x02hi", "RFC 6455"},
		"an opcode of nobody's":  {"\x83\x02hi", "RFC 6455"},
		"a ping in two frames":   {"\x09\x00", "RFC 6455"},
		"a ping of 126 bytes":    {"\x89\x7e\x00\x7e" + strings.Repeat("a", 126), "RFC 6455"},
		"begins in the middle":   {"\x80\x02hi", "disorder"},
		"begins before the end":  {"\x01\x02hi\x81\x02hi", "disorder"},
		"of 8 exabytes":          {"\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", "more than 64 MiB"},
		"too much in two frames": {"\x01\x02hi\x80\x7f\x00\x00\x00\x00\x03\xff\xff\xff", "more than 64 MiB"},
		"closed":                 {"\x88\x00", "closed by the other side"},
		"closed with a reason":   {"\x88\x05\x03\xf3bye", `1011 "bye"`},
	} {
		s, err := open(t.Context(), frames(t, c.frames), "/")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.read(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.20q, %v", name, got, err)
		}
		_ = s.conn.Close()
	}
}

func TestWhatIsNoWebSocketIsSaidSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ answer, want string }{
		"nothing":          {"", "EOF"},
		"another protocol": {"SSH-2.0-OpenSSH_9.6\r\n", "does not speak HTTP"},
		"not found":        {"HTTP/1.1 404 Not Found\r\n\r\n", "HTTP status 404"},
		"another key":      {"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: AAAA\r\n\r\n", "does not speak WebSocket"},
		"another upgrade":  {"HTTP/1.1 101 x\r\nUpgrade: h2c\r\n\r\n", "does not speak WebSocket"},
		"no end of it":     {"HTTP/1.1 101 " + strings.Repeat("x", 1<<20), "EOF"},
		"headers for ever": {"HTTP/1.1 101 x\r\n" + strings.Repeat("X: y\r\n", 1<<16), "EOF"},
	} {
		port := listen(t, func(conn net.Conn, in *bufio.Reader) {
			_, _ = http.ReadRequest(in)
			_, _ = io.WriteString(conn, c.answer)
		})
		if _, err := open(t.Context(), port, "/"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHandshakeAndReadingEndWithTheirContext(t *testing.T) {
	t.Parallel()
	cut := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	asked := make(chan struct{})
	port := listen(t, func(_ net.Conn, in *bufio.Reader) {
		_, _ = http.ReadRequest(in)
		close(asked)
		_, _ = io.Copy(io.Discard, in) // and never answers
	})
	go func() { <-asked; cancel(cut) }()
	if _, err := open(ctx, port, "/"); err == nil {
		t.Error("a handshake without an answer")
	}
	s, err := open(t.Context(), frames(t, "\x81\x05hi"), "/")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	go cancel(cut)
	if _, err := s.read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a message that never ends: %v", err)
	}
}

// The library that the program does not link is the other side here.
func TestLibraryReadsWhatIsSentAndIsReadBack(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()
		ws.SetReadLimit(maxMessage)
		kind, data, err := ws.Read(r.Context())
		if err == nil && ws.Ping(ws.CloseRead(r.Context())) == nil {
			_ = ws.Write(r.Context(), kind, data)
		}
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, 125, 126, 1<<16 - 1, 1 << 16, 1 << 20} {
		s, err := open(t.Context(), at.Port(), "/x?y=z")
		if err != nil {
			t.Fatal(err)
		}
		data := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		if err := s.send(opText, data); err != nil {
			t.Fatal(err)
		}
		if got, err := s.read(t.Context()); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: %d came back, %v", size, len(got), err)
		}
		_ = s.conn.Close()
	}
}

func TestABackendThatStandsStillIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, answers := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			s := &socket{conn: ours, in: bufio.NewReader(ours)}
			go s.keepAlive(t.Context())
			go func() {
				ping := make([]byte, 6)
				for {
					if _, err := io.ReadFull(theirs, ping); err != nil {
						return
					}
					if _, err := io.WriteString(theirs, "\x8a\x00"); !answers || err != nil {
						_, _ = io.Copy(io.Discard, theirs)
						return
					}
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 10*pongWait)
			defer cancel()
			began := time.Now()
			_, err := s.read(ctx)
			if took := time.Since(began); answers != errors.Is(err, context.DeadlineExceeded) || !answers && took > 2*pongWait+2*pingEvery {
				t.Errorf("it answers %t: after %s %v", answers, took, err)
			}
		})
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x81\x02hi"))
	f.Add([]byte("\x01\x02ab\x89\x01!\x80\x02cd"))
	f.Add([]byte("\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		defer ours.Close()
		defer theirs.Close()
		s := &socket{conn: ours, in: bufio.NewReader(bytes.NewReader(text))}
		for total := 0; ; {
			data, err := s.message()
			if err != nil {
				return
			}
			if total += len(data); total > len(text) {
				t.Fatalf("%d bytes of messages in %d bytes", total, len(text))
			}
		}
	})
}

func TestOnlyWhatWasAskedForIsSpoken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		headers string
		opens   bool
	}{
		"as asked":           {"Connection: keep-alive, Upgrade\r\n", true},
		"no upgrade":         {"", false},
		"another connection": {"Connection: close\r\n", false},
		"an extension":       {"Connection: Upgrade\r\nSec-WebSocket-Extensions: permessage-deflate\r\n", false},
		"a subprotocol":      {"Connection: Upgrade\r\nSec-WebSocket-Protocol: other\r\n", false},
	} {
		port := listen(t, func(conn net.Conn, in *bufio.Reader) {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			sum := sha1.Sum([]byte(req.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"+c.headers+
				"Sec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
			_, _ = io.Copy(io.Discard, in)
		})
		s, err := open(t.Context(), port, "/")
		if (err == nil) != c.opens {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			s.close()
		}
	}
}

func TestTheEndOfAConnectionIsSaid(t *testing.T) {
	t.Parallel()
	heard := make(chan []byte, 1)
	port := listen(t, func(conn net.Conn, in *bufio.Reader) {
		if shake(conn, in) == nil {
			text, _ := io.ReadAll(in)
			heard <- text
		}
	})
	s, err := open(t.Context(), port, "/")
	if err != nil {
		t.Fatal(err)
	}
	s.close()
	if text := <-heard; len(text) != 8 || text[0] != final|opClose || text[1] != masked|2 {
		t.Errorf("heard %x", text)
	}
}
