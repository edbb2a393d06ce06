package health

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxStatusLine bounds what is read of an answer.
const maxStatusLine = 1 << 10

// parseURL refuses what get cannot ask. The error is one phrase.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("is no URL") // which may hold a password
	case u.Scheme == "https":
		return nil, errors.New("https is not supported: probe a plain http:// address of this machine, or the port with tcp")
	case u.Scheme != "http" || u.Hostname() == "":
		return nil, errors.New("is no http:// URL with a host")
	}
	return u, nil
}

// dialer is net.Dialer.DialContext, or a test's.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// get is nil where a GET of address answers with one of the accepted codes.
//
// It is written by hand on a connection, since merely linking net/http costs every process that never probes anything:
// measured in an idle program with Go 1.26, PSS 4.95 MB against 2.30 MB with package net alone. So there is no TLS, no
// redirect, no proxy, no HTTP/2, and an informational answer (1xx) is taken as the answer.
func get(ctx context.Context, dial dialer, address string, accepted []int) error {
	u, err := parseURL(address)
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	code, err := status(ctx, dial, u)
	if u.User = nil; u.RawQuery != "" { // they may hold secrets, and the error goes into records
		u.RawQuery = "…"
	}
	switch {
	case err != nil:
		return fmt.Errorf("get %s: %w", u, reason(err))
	case len(accepted) == 0 && (code < 200 || code > 399), len(accepted) > 0 && !slices.Contains(accepted, code):
		return fmt.Errorf("get %s: status %d", u, code)
	}
	return nil
}

// status asks for u and reads the status line of the answer.
func status(ctx context.Context, dial dialer, u *url.URL) (int, error) {
	port := u.Port()
	if port == "" {
		port = "80"
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return 0, err
	}
	defer conn.Close() //nolint:errcheck // nothing is expected of it any more
	// The end of ctx ends what is being read or written.
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	login := ""
	if u.User != nil {
		secret, _ := u.User.Password()
		login = "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+secret)) + "\r\n"
	}
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n%sUser-Agent: hermes-supervisor\r\nAccept: */*\r\nConnection: close\r\n\r\n",
		u.RequestURI(), u.Host, login)
	if err != nil {
		return 0, err
	}
	line, err := bufio.NewReaderSize(conn, maxStatusLine).ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return 0, fmt.Errorf("no HTTP answer: it begins with a line above %d bytes", maxStatusLine)
	case errors.Is(err, io.EOF) && len(line) == 0:
		return 0, errors.New("closed without an answer")
	case err != nil && !errors.Is(err, io.EOF):
		return 0, err
	}
	return parseStatus(strings.TrimRight(string(line), "\r\n"))
}

// parseStatus reads "HTTP/1.1 200 OK".
func parseStatus(line string) (int, error) {
	proto, rest, _ := strings.Cut(line, " ")
	digits, _, _ := strings.Cut(rest, " ")
	code, err := strconv.Atoi(digits)
	if (proto != "HTTP/1.1" && proto != "HTTP/1.0") || len(digits) != 3 || err != nil || code < 100 {
		return 0, fmt.Errorf("no HTTP answer: %.60q", line)
	}
	return code, nil
}
