package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// maxFrame bounds a frame: a transcript can be long, also where it was asked to be left out.
const maxFrame = 64 << 20

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

// conn is a connection: one goroutine uses it.
type conn struct {
	ws   *websocket.Conn
	next int // id of the next call
}

func dial(ctx context.Context, b Backend) (*conn, error) {
	at := url.URL{Scheme: "ws", Host: "127.0.0.1:" + b.Port, Path: "/api/ws"}
	if b.Secret != "" {
		at.RawQuery = url.Values{"token": {b.Secret}}.Encode()
	}
	ws, resp, err := websocket.Dial(ctx, at.String(), nil)
	if err != nil {
		if resp != nil && resp.StatusCode != 0 {
			_ = resp.Body.Close() // of a connection that was made, it is the connection
			return nil, fmt.Errorf("connect to hermes serve: HTTP status %d", resp.StatusCode)
		}
		if in, ok := errors.AsType[*url.Error](err); ok {
			err = in.Err // without the address, which has the secret in it
		}
		return nil, errors.New("connect to hermes serve: " + hide(err.Error(), b.Secret))
	}
	ws.SetReadLimit(maxFrame)
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
	pingEvery = 20 * time.Second
	pongWait  = time.Minute
)

// keepAlive ends the connection when the other side no longer answers.
func (c *conn) keepAlive(ctx context.Context) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ping, cancel := context.WithTimeout(ctx, pongWait)
		err := c.ws.Ping(ping)
		cancel()
		if err != nil {
			_ = c.ws.CloseNow()
			return
		}
	}
}

func (c *conn) send(ctx context.Context, v map[string]any) error {
	v["jsonrpc"] = "2.0"
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.ws.Write(ctx, websocket.MessageText, data)
}

func (c *conn) read(ctx context.Context) (frame, error) {
	for {
		_, data, err := c.ws.Read(ctx)
		if err != nil {
			return frame{}, err
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
	if err := c.send(ctx, map[string]any{"id": c.next, "method": method, "params": params}); err != nil {
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
