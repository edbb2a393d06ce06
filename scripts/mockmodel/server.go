package mockmodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxBody bounds a request. A real one is some tens of kilobytes: instructions, tools and the conversation.
const maxBody = 64 << 20

// A Server answers model requests from a script and logs them. Make one with Start.
type Server struct {
	http     *http.Server
	listener net.Listener
	closing  context.CancelFunc
	closed   <-chan struct{} // after closing
	served   chan struct{}

	mu       sync.Mutex
	script   []Answer
	always   Answer     // when the script is empty
	requests []*Request // of turns
	sides    []*Request // beside them
	strays   []string
	changed  chan struct{} // closed and replaced at every change of the above
	released chan struct{} // closed and replaced by Release
}

// Start listens on a free port of 127.0.0.1 and serves until Close. Answers end with ctx as well.
func Start(ctx context.Context) (*Server, error) {
	ctx, cancel := context.WithCancel(ctx)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start mock model: %w", err)
	}
	s := &Server{
		listener: listener,
		closing:  cancel,
		closed:   ctx.Done(),
		served:   make(chan struct{}),
		changed:  make(chan struct{}),
		released: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", s.stray)
	for _, w := range wires {
		mux.HandleFunc(w.pattern, func(rw http.ResponseWriter, r *http.Request) { s.answer(w, rw, r) })
	}
	for pattern, body := range harmless {
		mux.HandleFunc(pattern, func(rw http.ResponseWriter, _ *http.Request) { sendJSON(rw, body) })
	}
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		// A stalled answer has no other reason to end when the server closes.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // always http.ErrServerClosed: Close is the only end
	}()
	return s, nil
}

// URL is the server's address without a path, such as http://127.0.0.1:41234.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Close cuts every open answer and stops listening. The log can still be read.
func (s *Server) Close() error {
	s.closing()
	err := s.http.Close()
	<-s.served
	return err
}

// Script appends answers. Each model request takes the next one; when none is left, it takes what Always set.
func (s *Server) Script(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, answers...)
}

// Always sets the answer for the requests that the script does not cover. Without it that is DefaultText.
func (s *Server) Always(answer Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = answer
}

// Release lets the answers that stall now go on.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.released)
	s.released = make(chan struct{})
}

// answer serves one model request.
func (s *Server) answer(w wire, rw http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxBody))
	var q question
	if err == nil {
		q, err = w.read(r, body)
	}
	if q.harmless != nil {
		sendJSON(rw, q.harmless)
		return
	}
	request, released := s.admit(w, r, q, arrived, err)
	switch {
	case err != nil:
		s.refuse(w, rw, r, request, http.StatusBadRequest)
		return
	case request.Answer.Status != 0:
		s.refuse(w, rw, r, request, request.Answer.Status)
		return
	}

	first, rest := w.answer(q, request.Answer.speech(request.N, q.model))
	rw.Header().Set("Content-Type", "application/json")
	if q.stream {
		rw.Header().Set("Content-Type", "text/event-stream")
		rw.Header().Set("Cache-Control", "no-cache")
	}
	if err := send(rw, first); err != nil {
		s.abort(request)
	}
	switch request.Answer.Ending {
	case Complete:
	case Cut:
		s.end(request, WasCut)
		panic(http.ErrAbortHandler)
	case Stall:
		s.update(func() { request.State, request.Stalled = Stalling, time.Now() })
		select {
		case <-released:
			s.update(func() { request.State = Streaming })
		case <-r.Context().Done():
			s.abort(request)
		}
	}
	// Asked before the last bytes, not after them: Codex hangs up as soon as it has the event that ends the answer.
	if r.Context().Err() != nil || send(rw, rest) != nil {
		s.abort(request)
	}
	s.end(request, Completed)
}

// abort ends an answer that can no longer be finished. It does not return: the panic is net/http's way to close a
// connection without ending the body, which would look like a whole answer.
func (s *Server) abort(request *Request) {
	state := PeerGone
	select {
	case <-s.closed:
		state = WasCut
	default:
	}
	s.end(request, state)
	panic(http.ErrAbortHandler)
}

// admit logs a request and takes its answer from the script. The channel is taken here, before anyone can see the
// request stall: a Release that follows that sight must reach it.
func (s *Server) admit(w wire, r *http.Request, q question, arrived time.Time, problem error) (*Request, <-chan struct{}) {
	request := &Request{
		API: w.api, Method: r.Method, Path: r.URL.Path, Remote: r.RemoteAddr,
		UserAgent: r.UserAgent(), Agent: agentOf(r.UserAgent(), q.inputs),
		Model: q.model, Tools: q.tools, Inputs: q.inputs,
		State: Streaming, Start: arrived,
	}
	if problem != nil {
		request.Error = problem.Error()
	}
	var released <-chan struct{}
	s.update(func() {
		log := &s.requests
		switch {
		case problem == nil && side(request.UserAgent, request.Agent, q):
			log, request.Answer = &s.sides, sideAnswer(q)
		case len(s.script) > 0:
			request.Answer, s.script = s.script[0], s.script[1:]
		default:
			request.Answer = s.always
		}
		*log = append(*log, request)
		request.N = len(*log)
		released = s.released
	})
	return request, released
}

func (s *Server) refuse(w wire, rw http.ResponseWriter, r *http.Request, request *Request, status int) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	if r.Context().Err() != nil || send(rw, encode(w.refusal(status))) != nil {
		s.abort(request)
	}
	s.end(request, Refused)
}

// end closes a request in the log.
func (s *Server) end(request *Request, state State) {
	s.update(func() {
		request.State, request.End = state, time.Now()
		if state == PeerGone {
			request.Aborted = request.End
		}
	})
}

func (s *Server) stray(rw http.ResponseWriter, r *http.Request) {
	s.update(func() { s.strays = append(s.strays, r.Method+" "+r.URL.Path) })
	http.NotFound(rw, r)
}

// send writes and flushes, so that the peer has what the log says it was sent.
func send(rw http.ResponseWriter, data []byte) error {
	if _, err := rw.Write(data); err != nil {
		return err
	}
	if err := http.NewResponseController(rw).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
