package fsstate

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// The parts of an id: when it was requested, so that names in their order are in the order of request; the session; and
// the key that makes a repeated request the same one, or a random part. Base 32 without padding, in an alphabet that
// sorts as its values do.
const (
	idTime = 13
	idHash = 8
)

var idCoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

func idPart(text string) string {
	sum := sha256.Sum256([]byte(text))
	return idCoding.EncodeToString(sum[:5])
}

// NewHandoffID is the id of a new request. key is "" where it has none.
func NewHandoffID(session, key string, now time.Time) string {
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], uint64(max(now.UnixNano(), 0)))
	last := idPart(key)
	if key == "" {
		var random [5]byte
		_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
		last = idCoding.EncodeToString(random[:])
	}
	return idCoding.EncodeToString(at[:]) + "-" + idPart(session) + "-" + last
}

// HandoffID tells whether a name is made like an id.
func HandoffID(name string) bool {
	if len(name) != idTime+2+2*idHash || name[idTime] != '-' || name[idTime+1+idHash] != '-' {
		return false
	}
	for _, c := range []byte(name) { // ten thousand are checked at a time
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return name[0] != '-' && name[0] != '_'
}

// OfSession tells whether a handoff of this id may be one of the session: its record tells for sure.
func OfSession(id, session string) bool {
	return HandoffID(id) && id[idTime+1:idTime+1+idHash] == idPart(session)
}

// OfRequest tells the same of a request's key.
func OfRequest(id, session, key string) bool {
	return OfSession(id, session) && key != "" && id[idTime+2+idHash:] == idPart(key)
}

// HandoffLock is the name of the lock of all handoffs of the session that an id names.
func HandoffLock(id string) string {
	if !HandoffID(id) {
		return "handoff"
	}
	return "handoff-" + id[idTime+1:idTime+1+idHash]
}

// HandoffLockOf is HandoffLock of a session that may have none yet.
func HandoffLockOf(session string) string { return "handoff-" + idPart(session) }
