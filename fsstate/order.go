package fsstate

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// OrderVersion is the "version" of orders and answers in requests/.
const OrderVersion = 1

// Order is a command for a running supervisor: requests/order-<id>.json. It is sealed, names the supervisor that it is
// meant for, and means nothing to anybody else.
type Order struct {
	ID         string    `json:"id"`
	Supervisor string    `json:"supervisor"`        // instance of the supervisor that it is meant for
	Op         string    `json:"op"`                // start, stop, restart, signal, reload, apply
	Service    string    `json:"service,omitempty"` // where the op is about one
	Signal     int       `json:"signal,omitempty"`
	At         time.Time `json:"at"`

	Verified bool `json:"-"`
}

// Answer is what a supervisor says to an order: requests/answer-<id>.json.
type Answer struct {
	ID    string    `json:"id"`
	Error string    `json:"error,omitempty"` // why it was not carried out; "" when it was
	Code  int       `json:"code,omitempty"`  // exit code that goes with the error
	Text  string    `json:"text,omitempty"`  // what was done, for people
	At    time.Time `json:"at"`

	Verified bool `json:"-"`
}

const (
	orderPrefix  = "order-"
	answerPrefix = "answer-"
)

var (
	orderKeys  = fieldNames[Order]()
	answerKeys = fieldNames[Answer]()
)

// OrderFiles reads and writes the orders of one store, and their answers.
type OrderFiles struct {
	Store *Store
	Key   []byte
}

// Put leaves an order. It need not survive a power loss, but it costs nothing that it does.
func (of OrderFiles) Put(o *Order) error { return of.write(orderPrefix, o.ID, o) }

// PutAnswer leaves an answer.
func (of OrderFiles) PutAnswer(a *Answer) error { return of.write(answerPrefix, a.ID, a) }

// Pending are the ids of the orders that nobody has taken yet, in no particular order.
func (of OrderFiles) Pending() ([]string, error) {
	names, err := of.Store.List(Requests)
	var ids []string
	for _, name := range names {
		if rest, is := strings.CutPrefix(name, orderPrefix); is {
			if id, is := strings.CutSuffix(rest, ".json"); is {
				ids = append(ids, id)
			}
		}
	}
	return ids, err
}

// Take reads an order and removes it, so that it is carried out once at most.
func (of OrderFiles) Take(id string) (*Order, error) {
	o := &Order{}
	verified, err := of.read(orderPrefix, id, o, orderKeys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if rerr := of.Store.Remove(Requests, orderPrefix+id+".json"); rerr != nil {
		return nil, rerr
	}
	if err != nil {
		return nil, err
	}
	o.Verified = verified && o.ID == id
	return o, nil
}

// Answer reads the answer to an order; nil without an error while there is none.
func (of OrderFiles) Answer(id string) (*Answer, error) {
	a := &Answer{}
	verified, err := of.read(answerPrefix, id, a, answerKeys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a.Verified = verified && a.ID == id
	return a, nil
}

// Drop removes an order and its answer.
func (of OrderFiles) Drop(id string) error {
	return of.Store.Discard(Requests, orderPrefix+id+".json", answerPrefix+id+".json")
}

func (of OrderFiles) write(prefix, id string, v any) error {
	file := prefix + id + ".json"
	doc, err := documentOf(v, OrderVersion, nil)
	if err != nil {
		return fmt.Errorf("encode %s: %w", of.Store.Path(Requests, file), err)
	}
	if len(of.Key) > 0 {
		doc.Seal(of.Key, of.context(prefix))
	}
	data, err := doc.Encode()
	if err != nil {
		return fmt.Errorf("encode %s: %w", of.Store.Path(Requests, file), err)
	}
	return of.Store.Write(Requests, file, data)
}

func (of OrderFiles) read(prefix, id string, v any, keys map[string]string) (verified bool, err error) {
	file := prefix + id + ".json"
	data, _, err := of.Store.Read(Requests, file)
	if err != nil {
		return false, err
	}
	path := of.Store.Path(Requests, file)
	doc, err := decodeAt(path, data, OrderVersion)
	if err != nil {
		return false, err
	}
	if _, err := doc.into(v, keys); err != nil {
		return false, &CorruptError{Path: path, Problem: "cannot be decoded: " + err.Error()}
	}
	return doc.Verify(of.Key, of.context(prefix)), nil
}

func (of OrderFiles) context(prefix string) string { return prefix + "\x00" + of.Store.Home().Path }
