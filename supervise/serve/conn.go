package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxMessage bounds a message: a transcript can be long, also where it was asked to be left out.
const maxMessage = 64 << 20

// frame is whatever comes over the wire: a reply, an event, or a request to the client.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Type    string          `json:"type"`
		Session string          `json:"session_id"`
		Payload json.RawMessage `json:"payload"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// rpcError is a refusal of the backend's.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// lostError is a connection that was not made, or is of no more use: it says nothing about the turn.
type lostError struct {
	doing string
	err   error
}

func (e *lostError) Error() string { return e.doing + ": connection lost: " + e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// conn is a connection: one goroutine uses it.
type conn struct {
	ws   *socket
	next int // id of the next call
}

func dial(ctx context.Context, b Backend) (*conn, error) {
	path := "/api/ws"
	if b.Secret != "" {
		path += "?" + url.Values{"token": {b.Secret}}.Encode()
	}
	ws, err := open(ctx, b.Port, path)
	if err != nil {
		return nil, &lostError{"connect", err}
	}
	return &conn{ws: ws}, nil
}

// hide keeps a secret out of a text that others have made.
func hide(text, secret string) string {
	if secret == "" {
		return text
	}
	return strings.ReplaceAll(text, secret, "***")
}

// between pings, and how long an answer may take: a backend that stands still is as good as gone.
const (
	pingEvery     = 20 * time.Second
	pongWait      = time.Minute
	handshakeWait = time.Minute
)

func (c *conn) send(v map[string]any) error {
	v["jsonrpc"] = "2.0"
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := c.ws.send(opText, data); err != nil {
		return &lostError{"write", err}
	}
	return nil
}

func (c *conn) read(ctx context.Context) (frame, error) {
	for {
		data, err := c.ws.read(ctx)
		if err != nil {
			return frame{}, &lostError{"read", err}
		}
		var f frame
		if json.Unmarshal(data, &f) == nil { // what is not understood is not for us
			return f, nil
		}
	}
}

// call asks, and hands everything that comes before the reply to other.
func (c *conn) call(ctx context.Context, method string, params map[string]any, other func(frame) error) (json.RawMessage, error) {
	c.next++
	id := strconv.Itoa(c.next)
	if err := c.send(map[string]any{"id": c.next, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		f, err := c.read(ctx)
		switch {
		case err != nil:
			return nil, err
		case f.Method == "" && string(f.ID) == id && f.Error != nil:
			return nil, f.Error
		case f.Method == "" && string(f.ID) == id:
			return f.Result, nil
		}
		if err := other(f); err != nil {
			return nil, err
		}
	}
}
