package service

import (
	"crypto/rand"
	"encoding/hex"
	"errors"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
)

// Notice is what a service is told of a stop that we ordered, beside the signal, which alone may look like an accident to
// it. A value of it can be compared.
type Notice interface {
	Announce(home string, leader ident.Ident) error
}

// announceStop comes before the first signal of a stop. A service that was not told is stopped all the same.
func (j *job) announceStop(l *launch) {
	if j.spec.BeforeStop == nil || l.reaped {
		return
	}
	if err := j.spec.BeforeStop.Announce(j.Files.Store.Home().Path, l.id); err != nil {
		j.Log.Warn("stop not announced", "service", j.spec.Name, "error", err.Error())
	}
}

// Files in run/ by which others find their way to a launch: the secret that it was given, and what it said of itself when
// it was ready (its port).
const (
	secretSuffix = ".secret"
	toldSuffix   = ".told"
)

// newSecret makes the secret of one launch. It is in that launch's environment and in a 0600 file, and nowhere else.
func (j *job) newSecret(instance string) (string, error) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	secret := hex.EncodeToString(b[:])
	return secret, j.keep(instance+secretSuffix, secret)
}

// keep writes a file in run/ anew. It need not be durable: after a reboot nothing of the launch lives.
func (j *job) keep(file, text string) error {
	if err := j.Files.Store.Discard(fsstate.Run, file); err != nil { // of a launch that failed
		return err
	}
	f, err := j.Files.Store.NewOutput(file)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Told is what a launch said when it was ready, and its secret; "" where there is none.
func Told(store *fsstate.Store, instance string) (told, secret string) {
	read := func(suffix string) string {
		text, _, err := store.Read(fsstate.Run, instance+suffix)
		if err != nil {
			return ""
		}
		return string(text)
	}
	return read(toldSuffix), read(secretSuffix)
}
