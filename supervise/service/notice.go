package service

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/supervise/health"
)

// Notice is what a service is told of a stop that we ordered, beside the signal, which alone may look like an accident to
// it. A value of it can be compared.
type Notice interface {
	Announce(home string, leader ident.Ident) error
}

// announceStop comes before the first signal of a stop. A service that was not told is stopped all the same.
func (j *job) announceStop(l *launch) {
	if l.reaped {
		return
	}
	if j.spec.HoldsTurns && j.Stopping != nil {
		j.Stopping(j.spec, l.id)
	}
	if j.spec.BeforeStop == nil {
		return
	}
	if err := j.spec.BeforeStop.Announce(j.Files.Store.Home().Path, l.id); err != nil {
		j.Log.Warn("stop not announced", "service", j.spec.Name, "error", err.Error())
	}
}

// Files in run/ by which others find their way to a launch: the secret that it was given, what it said of itself when it
// was ready (its port), and where in the output it began, for a supervisor that adopts it before it has said so.
const (
	secretSuffix = ".secret"
	toldSuffix   = ".told"
	fromSuffix   = ".from"
)

// tells tells whether something of what the launch says is kept.
func (s Spec) tells() bool {
	return s.Ready != nil && s.Ready.Output != nil && s.Ready.Output.NumSubexp() > 0
}

// noteBegin keeps where in the output a launch begins. Failing costs the next supervisor what it said.
func (j *job) noteBegin(instance string, out []health.Stream) {
	if j.spec.tells() && len(out) == 2 {
		_ = j.keep(instance+fromSuffix, fmt.Sprintf("%d %d", out[0].From, out[1].From))
	}
}

// hear looks for what an adopted launch said, or has yet to say, before its start was over: it is up already.
func (j *job) hear(l *launch) {
	text, _, err := j.Files.Store.Read(fsstate.Run, l.id.Instance+fromSuffix)
	if !j.spec.tells() || err != nil {
		return
	}
	out, err := j.streams()
	if err == nil && len(out) == 2 {
		_, err = fmt.Sscanf(string(text), "%d %d", &out[0].From, &out[1].From)
	}
	if err != nil {
		closeStreams(out)
		return
	}
	spec, ctx := j.spec, l.ctx
	go func() { _ = awaitReady(ctx, spec, l.began, out, j.tellOf(l)) }()
}

// tellOf keeps what a launch says.
func (j *job) tellOf(l *launch) func(string) {
	name := j.spec.Name
	return func(told string) {
		file := l.id.Instance + toldSuffix
		if err := j.keep(file, sealTold(j.Files, file, told)); err != nil {
			j.Log.Warn("what the service said is not kept", "service", name, "error", err.Error())
		}
	}
}

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

// sealTold is what stands in a file of what a launch said: sealed as its record is, since whoever asks that launch tells
// its secret to the port that stands there.
func sealTold(files fsstate.ServiceFiles, file, told string) string {
	text, err := json.Marshal(told)
	if err != nil {
		return ""
	}
	d := fsstate.Document{"version": json.RawMessage("1"), "told": text}
	d.Seal(files.Key, toldContext(files, file))
	text, err = json.Marshal(d)
	if err != nil {
		return ""
	}
	return string(text)
}

func toldContext(files fsstate.ServiceFiles, file string) string {
	return "told\x00" + files.Store.Home().Path + "\x00" + file
}

// Told is what a launch said when it was ready, and its secret; "" where there is none, or somebody else wrote it.
func Told(files fsstate.ServiceFiles, instance string) (told, secret string) {
	read := func(suffix string) []byte {
		text, _, err := files.Store.Read(fsstate.Run, instance+suffix)
		if err != nil {
			return nil
		}
		return text
	}
	var d fsstate.Document
	if json.Unmarshal(read(toldSuffix), &d) != nil || len(files.Key) > 0 && !d.Verify(files.Key, toldContext(files, instance+toldSuffix)) ||
		json.Unmarshal(d["told"], &told) != nil {
		told = ""
	}
	return told, string(read(secretSuffix))
}
