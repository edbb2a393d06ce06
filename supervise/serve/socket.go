package serve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6455 has it, to tell a WebSocket from whoever else listens
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hermes-supervisor/supervise/awake"
)

// socket is the client's end of a WebSocket (RFC 6455): plain TCP, whole messages, no extension. One goroutine reads;
// any may write.
//
// It is written by hand, since every client library links net/http: measured with Go 1.26, that costs each start of the
// program, hooks of agents included, 0.8 ms of 2.3, and each keeper 0.6 MB of 5.4.
type socket struct {
	conn  net.Conn
	in    *bufio.Reader
	write sync.Mutex
	heard atomic.Int64 // when the last frame came, in Unix nanoseconds
}

// Opcodes of section 5.2.
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xA
)

const (
	final      = 0x80 // of the first byte: the last frame of a message
	reserved   = 0x70 // of extensions, of which we ask for none
	masked     = 0x80 // of the second byte
	maxControl = 125  // bytes in a frame that is no message

	maxHandshake = 16 << 10 // bytes of the answer to the handshake
)

// open connects to a port of this machine and asks for a WebSocket at a path. It ends with ctx.
func open(ctx context.Context, port, path string) (*socket, error) {
	host := net.JoinHostPort("127.0.0.1", port)
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	limited := &io.LimitedReader{R: conn, N: maxHandshake}
	s := &socket{conn: conn, in: bufio.NewReader(limited)}
	if err := s.handshake(ctx, host, path); err != nil {
		_ = conn.Close()
		return nil, err
	}
	limited.N = math.MaxInt64
	return s, nil
}

func (s *socket) handshake(ctx context.Context, host, path string) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeWait)
	defer cancel()
	defer s.bound(ctx)()
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails: crypto/rand ends the process instead
	key := base64.StdEncoding.EncodeToString(nonce[:])
	_, err := fmt.Fprintf(s.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n", path, host, key)
	if err != nil {
		return err
	}
	answer := textproto.NewReader(s.in)
	line, err := answer.ReadLine()
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	protocol, status, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(protocol, "HTTP/1.") {
		return errors.New("what listens there does not speak HTTP")
	}
	if code, _, _ := strings.Cut(status, " "); code != "101" {
		if len(code) != 3 || strings.Trim(code, "0123456789") != "" {
			code = "that is none"
		}
		return errors.New("HTTP status " + code)
	}
	header, err := answer.ReadMIMEHeader()
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // as above
	if !strings.EqualFold(header.Get("Upgrade"), "websocket") || !lists(header["Connection"], "upgrade") || header.Get("Sec-Websocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) {
		return errors.New("what listens there does not speak WebSocket")
	}
	if len(header["Sec-Websocket-Extensions"])+len(header["Sec-Websocket-Protocol"]) > 0 {
		return errors.New("what listens there speaks an extension of WebSocket that was not asked for")
	}
	return nil
}

// lists tells whether a header that is a list has a word.
func lists(values []string, word string) bool {
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if strings.EqualFold(strings.TrimSpace(part), word) {
			return true
		}
	}
	return false
}

// normal is the status of a connection that has served its end (RFC 6455, 7.4.1).
const normal = 1000

// farewell bounds the goodbye to a side that takes nothing any more.
const farewell = time.Second

// close says goodbye, and does not wait for the answer.
func (s *socket) close() {
	_ = s.conn.SetWriteDeadline(time.Now().Add(farewell))
	_ = s.send(opClose, binary.BigEndian.AppendUint16(nil, normal))
	_ = s.conn.Close()
}

// bound makes an operation end with ctx, until release is called.
func (s *socket) bound(ctx context.Context) (release func() bool) {
	return context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
}

// read gives the next message of at most maxMessage bytes. When ctx ends meanwhile, the socket is of no more use.
func (s *socket) read(ctx context.Context) ([]byte, error) {
	defer s.bound(ctx)()
	data, err := s.message()
	if ctx.Err() != nil && err != nil {
		err = ctx.Err()
	}
	return data, err
}

func (s *socket) message() ([]byte, error) {
	var whole bytes.Buffer
	for begun := false; ; {
		op, last, err := s.frame(&whole)
		switch {
		case err != nil:
			return nil, err
		case op >= opClose: // it may come between the frames of a message
			continue
		case (op == opContinuation) != begun:
			return nil, errors.New("frames of a message in disorder")
		case last:
			return whole.Bytes(), nil
		}
		begun = true
	}
}

// frame reads one frame: that of a message into whole, any other it answers.
func (s *socket) frame(whole *bytes.Buffer) (op byte, last bool, err error) {
	var head [2]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return 0, false, err
	}
	op, last = head[0]&0x0F, head[0]&final != 0
	if head[0]&reserved != 0 || head[1]&masked != 0 || op > opBinary && op < opClose || op > opPong {
		return op, last, errors.New("a frame that RFC 6455 does not have")
	}
	size, err := s.size(head[1])
	if err != nil {
		return op, last, err
	}
	s.heard.Store(time.Now().UnixNano())
	if op >= opClose {
		if size > maxControl || !last {
			return op, last, errors.New("a frame that RFC 6455 does not have")
		}
		return op, last, s.control(op, size)
	}
	if size > int64(maxMessage-whole.Len()) {
		return op, last, errTooLong
	}
	_, err = io.CopyN(whole, s.in, size) // as it comes: what is announced need not come
	return op, last, noEOF(err)
}

var errTooLong = fmt.Errorf("a message of more than %d MiB", maxMessage>>20)

// size is that of a frame's payload.
func (s *socket) size(second byte) (int64, error) {
	n := int64(second &^ masked)
	if n < 126 {
		return n, nil
	}
	text := make([]byte, 2)
	if n == 127 {
		text = make([]byte, 8)
	}
	if _, err := io.ReadFull(s.in, text); err != nil {
		return 0, noEOF(err)
	}
	if len(text) == 2 {
		return int64(binary.BigEndian.Uint16(text)), nil
	}
	if long := binary.BigEndian.Uint64(text); long <= maxMessage {
		return int64(long), nil
	}
	return 0, errTooLong
}

// noEOF: an end inside of a frame is none that the other side has told.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (s *socket) control(op byte, size int64) error {
	text := make([]byte, size)
	if _, err := io.ReadFull(s.in, text); err != nil {
		return noEOF(err)
	}
	switch op {
	case opPing:
		return s.send(opPong, text)
	case opClose:
		_ = s.send(opClose, text[:min(len(text), 2)])
		if len(text) >= 2 {
			return fmt.Errorf("closed by the other side (%d %q)", binary.BigEndian.Uint16(text), text[2:])
		}
		return errors.New("closed by the other side")
	}
	return nil
}

// send writes one frame, masked as a client's has to be. What the other side does not take in time ends the connection.
func (s *socket) send(op byte, data []byte) error {
	frame := make([]byte, 0, 14+len(data))
	frame = append(frame, final|op)
	switch n := len(data); {
	case n < 126:
		frame = append(frame, masked|byte(n))
	case n <= math.MaxUint16:
		frame = binary.BigEndian.AppendUint16(append(frame, masked|126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, masked|127), uint64(n))
	}
	var mask [4]byte
	_, _ = rand.Read(mask[:])
	frame = append(frame, mask[:]...)
	for i, b := range data {
		frame = append(frame, b^mask[i%4])
	}
	s.write.Lock()
	defer s.write.Unlock()
	late := time.AfterFunc(pongWait, func() { _ = s.conn.Close() })
	defer late.Stop()
	_, err := s.conn.Write(frame)
	return err
}

// keepAlive ends the connection when the other side no longer answers.
func (s *socket) keepAlive(ctx context.Context) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	asked := int64(0)
	for {
		before := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		slept := awake.Late(before, time.Now(), pingEvery) > 0
		switch now := time.Now().UnixNano(); {
		case s.heard.Load() >= asked, slept: // nobody can answer while nothing runs
			asked = now
		case now-asked > int64(pongWait):
			_ = s.conn.Close()
			return
		}
		if s.send(opPing, nil) != nil {
			return // reading tells
		}
	}
}
