package fsstate

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// The parts of an id: when it was requested, so that names in their order are in the order of request; the session; the
// platform, so that nobody reads what waits for another one; and the key that makes a repeated request the same one, or a
// random part. Base 32 without padding, in an alphabet that sorts as its values do.
const (
	idTime     = 13
	idSession  = idTime + 1 // where it begins
	idHash     = 8
	idPlatform = idSession + idHash + 1
	idShort    = 4
	idKey      = idPlatform + idShort + 1
	idLength   = idKey + idHash
)

var idCoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

func idPart(text string) string {
	sum := sha256.Sum256([]byte(text))
	return idCoding.EncodeToString(sum[:5])
}

// NewHandoffID is the id of a new request. key is "" where it has none.
func NewHandoffID(session, platform, key string, now time.Time) string {
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], uint64(max(now.UnixNano(), 0)))
	last := idPart(key)
	if key == "" {
		var random [5]byte
		_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
		last = idCoding.EncodeToString(random[:])
	}
	return idCoding.EncodeToString(at[:]) + "-" + idPart(session) + "-" + idPart(platform)[:idShort] + "-" + last
}

// HandoffID tells whether a name is made like an id.
func HandoffID(name string) bool { return isID(name) }

func isID[Name string | []byte](name Name) bool {
	if len(name) != idLength || name[idTime] != '-' || name[idPlatform-1] != '-' || name[idKey-1] != '-' {
		return false
	}
	for i := range len(name) { // ten thousand are checked at a time
		if c := name[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return name[0] != '-' && name[0] != '_'
}

// OfSession tells of ids whether they may be those of handoffs of a session: the record tells for sure. It is made once for
// ten thousand ids.
func OfSession(session string) func(id string) bool {
	part := idPart(session)
	return func(id string) bool { return HandoffID(id) && id[idSession:idPlatform-1] == part }
}

// ForPlatform tells the same of a platform.
func ForPlatform(platform string) func(id string) bool {
	part := idPart(platform)[:idShort]
	return func(id string) bool { return HandoffID(id) && id[idPlatform:idKey-1] == part }
}

// OfRequest tells the same of a session's request with a key; of none where the key is "".
func OfRequest(session, key string) func(id string) bool {
	ofSession, part := OfSession(session), idPart(key)
	return func(id string) bool { return key != "" && ofSession(id) && id[idKey:] == part }
}

// HandoffLock is the name of the lock of all handoffs of the session that an id names.
func HandoffLock(id string) string {
	if !HandoffID(id) {
		return "handoff"
	}
	return "handoff-" + id[idSession:idPlatform-1]
}

// HandoffLockOf is HandoffLock of a session that may have none yet.
func HandoffLockOf(session string) string { return "handoff-" + idPart(session) }
