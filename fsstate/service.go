package fsstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"hermes-supervisor/fsstate/ident"
)

// ServiceVersion is the "version" of the documents in services/.
const ServiceVersion = 1

// Service is one document of services/: who runs a service, which process it is, and how it stands. Unknown fields of a
// file survive a rewrite.
type Service struct {
	Service    string          `json:"service"`
	State      json.RawMessage `json:"state"`               // how it stands and what was ordered: policy/phase's State, carried here
	Supervisor ident.Ident     `json:"supervisor,omitzero"` // while it is not dead, nobody else runs this service
	Process    ident.Ident     `json:"process,omitzero"`    // the current launch: its instance is durable before the fork, pid and start follow
	Digest     string          `json:"digest,omitempty"`    // of the configuration that the current launch was started with
	// Next is the instance that an automatic restart is going to be: its witness is there, free. Once the process is dead
	// it may have been launched without a word more on disk.
	Next string `json:"next,omitempty"`
	// Failing says that the current launch has failed its last health checks, and was not given up for that yet.
	Failing *Failing `json:"failing,omitempty"`

	Verified bool `json:"-"` // the HMAC held when it was read

	unknown Document
}

// Failing is a service whose health check fails.
type Failing struct {
	Checks int       `json:"checks"` // failed in a row
	Of     int       `json:"of"`     // after so many it is restarted
	Why    string    `json:"why"`    // of the last one
	At     time.Time `json:"at"`
}

var serviceKeys = sync.OnceValue(fieldNames[Service])

// ServiceFiles reads and writes the service documents of one store. It takes no lock: Lock(Name(service)) is for the
// change of who runs a service; who runs it writes alone.
type ServiceFiles struct {
	Store *Store
	Key   []byte // HMAC key; empty: what is written cannot be verified by anyone
}

// Get reads a service's record. The error wraps fs.ErrNotExist where there is none, and is a *CorruptError,
// *VersionError or *UnsafeError for a file that cannot be used.
func (sf ServiceFiles) Get(service string) (*Service, error) {
	return sf.read(Name(service) + ".json")
}

// Path is where a service's record lies.
func (sf ServiceFiles) Path(service string) string {
	return sf.Store.Path(Services, Name(service)+".json")
}

// Put writes a service's record durably. It is sealed: whoever writes it vouches for it.
func (sf ServiceFiles) Put(r *Service) error {
	path := sf.Path(r.Service)
	doc, err := documentOf(r, ServiceVersion, r.unknown)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	if len(sf.Key) > 0 {
		doc.Seal(sf.Key, sf.context())
	}
	data, err := doc.Encode()
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return sf.Store.Write(Services, Name(r.Service)+".json", data)
}

// All reads every record. What cannot be read is in the second result, one error a file.
func (sf ServiceFiles) All() (records []*Service, bad []error) {
	names, err := sf.Store.List(Services)
	if err != nil {
		return nil, []error{err}
	}
	for _, name := range names {
		switch r, err := sf.read(name); {
		case err == nil:
			records = append(records, r)
		case !errors.Is(err, fs.ErrNotExist):
			bad = append(bad, err)
		}
	}
	return records, bad
}

func (sf ServiceFiles) read(file string) (*Service, error) {
	data, _, err := sf.Store.Read(Services, file)
	if err != nil {
		return nil, err
	}
	path := sf.Store.Path(Services, file)
	doc, err := decodeAt(path, data, ServiceVersion)
	if err != nil {
		return nil, err
	}
	r := &Service{}
	if r.unknown, err = doc.into(r, serviceKeys()); err != nil {
		return nil, &CorruptError{Path: path, Problem: "cannot be decoded: " + err.Error()}
	}
	if r.Service == "" {
		return nil, &CorruptError{Path: path, Problem: "names no service"}
	}
	if Name(r.Service)+".json" != file { // a copy, or a forged one, must not speak for another
		return nil, &CorruptError{Path: path, Problem: fmt.Sprintf("is about service %.40q, whose record it is not", r.Service)}
	}
	r.Verified = doc.Verify(sf.Key, sf.context())
	return r, nil
}

func (sf ServiceFiles) context() string { return "service\x00" + sf.Store.Home().Path }
