package handoff

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sys/unix"

	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/queue"
)

// client is what a process is told that changes the handoffs of a home at random until its stdin ends. Then it waits to
// be killed: its claims live as long as it does.
type client struct {
	place

	Seed     uint64
	Name     string
	Sessions []string
	Log      string
	NoLock   bool // claim as a queue would that forgot its lock
}

func init() { parts["client"] = func([]string) int { return playClient() } }

// entry of a client's log: an operation begins, or the last one has been answered.
type logEntry struct {
	Do     *doing `json:"do,omitempty"`
	Answer string `json:"answer,omitempty"`
	At     int64  `json:"at"` // CLOCK_MONOTONIC, which all processes of a machine share
	Done   bool   `json:"done,omitempty"`
}

func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// claimed is a claim that a client has made once.
type claimed struct{ id, claim string }

// player is a client at work.
type player struct {
	client

	q    *Queue
	log  *os.File
	rand *rand.Rand
	keys int
	mine []claimed
}

func playClient() int {
	p := &player{}
	if err := json.Unmarshal([]byte(os.Getenv(callVar)), &p.client); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	var err error
	if p.q, err = p.open(); err == nil {
		p.log, err = os.OpenFile(p.Log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	p.rand = rand.New(rand.NewPCG(p.Seed, 0))
	over := make(chan struct{})
	go func() { _, _ = io.ReadAll(os.Stdin); close(over) }()
	for {
		select {
		case <-over:
			p.write(logEntry{Done: true})
			select {}
		default:
			p.act()
		}
	}
}

func (p *player) write(e logEntry) {
	e.At = monotonic()
	data, _ := json.Marshal(e)
	if _, err := p.log.Write(append(data, '\n')); err != nil {
		panic(err)
	}
}

// act is one operation, logged before and after.
func (p *player) act() {
	session := p.Sessions[p.rand.IntN(len(p.Sessions))]
	d := doing{Session: session, Proc: p.Name}
	o := op{place: p.place}
	self, err := ident.Self(ident.NewInstance())
	if err != nil {
		panic(err)
	}
	if d.What = p.choose(); d.What == "request" {
		p.keys++
		key := p.Name + "-" + strconv.Itoa(p.keys)
		d.Hand = handOf(fsstate.NewHandoffID(session, "any", key, time.Now()))
		p.write(logEntry{Do: &d})
		h, _, err := p.q.Request(context.Background(), Request{Session: session, Platform: "own", Key: key})
		p.write(logEntry{Answer: answerOf(h, err)})
		return
	}
	o.What, o.ID, o.Claim = d.What, p.pick(session), self
	if (d.What == "complete" || d.What == "fail") && len(p.mine) > 0 && p.rand.IntN(8) > 0 {
		c := p.mine[max(0, len(p.mine)-1-p.rand.IntN(3))]
		o.ID, o.Claim.Instance = c.id, c.claim
		d.Session = p.sessionOf(c.id)
	}
	if o.ID == "" {
		return
	}
	d.Hand, d.Claim = handOf(o.ID), o.Claim.Instance
	p.write(logEntry{Do: &d})
	var h *fsstate.Handoff
	if p.NoLock && d.What == "claim" {
		h, err = p.claimWithoutLock(o)
	} else {
		h, err = o.do(context.Background(), p.q)
	}
	if d.What == "claim" && err == nil {
		p.mine = append(p.mine, claimed{o.ID, self.Instance})
	}
	p.write(logEntry{Answer: answerOf(h, err)})
}

func (p *player) choose() string {
	kinds := []struct {
		what  string
		share int
	}{{"request", 20}, {"claim", 30}, {"complete", 10}, {"fail", 8}, {"reclaim", 24}, {"retry", 8}, {"cancel", 2}}
	n := p.rand.IntN(102)
	for _, k := range kinds {
		if n -= k.share; n < 0 {
			return k.what
		}
	}
	panic("the shares do not add up")
}

// pick is one of the session's last handoffs, mostly an open one; "" where there is none.
func (p *player) pick(session string) string {
	for _, list := range []func() ([]string, error){p.q.Files.Open, p.q.Files.Ended} {
		ids, err := list()
		if err != nil {
			panic(err)
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return !fsstate.OfSession(session)(id) })
		if len(ids) > 0 && p.rand.IntN(4) > 0 {
			return ids[max(0, len(ids)-1-p.rand.IntN(2))]
		}
	}
	return ""
}

func (p *player) sessionOf(id string) string {
	return p.Sessions[slices.IndexFunc(p.Sessions, func(s string) bool { return fsstate.OfSession(s)(id) })]
}

// claimWithoutLock is what a claim must not be: a look and a write with time in between.
func (p *player) claimWithoutLock(o op) (*fsstate.Handoff, error) {
	h, err := p.q.get(o.ID)
	if err != nil {
		return nil, err
	}
	if h.State != string(queue.Pending) {
		return p.q.Claim(context.Background(), o.ID, fsstate.Claim{Claimer: o.Claim, External: true}, nil)
	}
	time.Sleep(2 * time.Millisecond)
	h.State, h.Claim, h.End = string(queue.Running), &fsstate.Claim{Claimer: o.Claim, External: true}, nil
	return h, p.q.Files.Put(h)
}

// handOf is the last part of an id, which its key makes.
func handOf(id string) string { return id[len(id)-8:] }

func answerOf(h *fsstate.Handoff, err error) string {
	if err == nil {
		return h.State
	}
	if refused, is := errors.AsType[*RefusedError](err); is {
		return refusal(refused.Reason)
	}
	if _, is := errors.AsType[*fsstate.LockedError](err); is {
		return answerBusy
	}
	if errors.Is(err, ErrNone) {
		return answerNone
	}
	return "error: " + err.Error()
}

// running is a client process.
type running struct {
	client

	cmd   *exec.Cmd
	stdin io.Closer
}

// play makes a history: clients at work, of which one is killed every now and then, and its place taken. Where that was
// not enough it goes on like that, for three times as long at most.
func (h *home) play(seed uint64, clients, operations, kills int, noLock bool, enough func([]porcupine.Operation) bool) []porcupine.Operation {
	h.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	sessions := []string{"one", "two", "three"}
	started := 0
	start := func() *running {
		h.Helper()
		started++
		r := &running{client: client{
			place: h.place, Seed: rnd.Uint64(), Name: "p" + strconv.Itoa(started), Sessions: sessions, NoLock: noLock,
		}}
		r.Log = h.file(r.Name)
		data, err := json.Marshal(r.client)
		if err != nil {
			h.Fatal(err)
		}
		r.cmd = exec.Command(testBinary(h.T), "client")
		r.cmd.Env = append(r.cmd.Environ(), callVar+"="+string(data), "GORACE=atexit_sleep_ms=0")
		r.cmd.Stderr = os.Stderr
		if r.stdin, err = r.cmd.StdinPipe(); err == nil {
			err = r.cmd.Start()
		}
		if err != nil {
			h.Fatal(err)
		}
		return r
	}
	var history []porcupine.Operation
	// kill notes a death, and what it has cut, which can have taken effect before it only.
	kill := func(r *running) {
		h.Helper()
		began := monotonic()
		if err := r.cmd.Process.Kill(); err != nil {
			h.Fatal(err)
		}
		_ = r.cmd.Wait()
		over := monotonic()
		for _, s := range sessions {
			history = append(history, porcupine.Operation{Input: doing{What: "die", Session: s, Proc: r.Name}, Output: "", Call: began, Return: over})
		}
		history = append(history, h.historyOf(r.client, over)...)
	}
	all := make([]*running, clients)
	for i := range all {
		all[i] = start()
	}
	defer func() {
		for _, r := range all { // of a test that has failed
			_ = r.cmd.Process.Kill()
			_ = r.cmd.Wait()
		}
	}()
	logged := func() int {
		n := 0
		for i := range started {
			data, err := os.ReadFile(h.file("p" + strconv.Itoa(i+1)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				h.Fatal(err)
			}
			n += bytes.Count(data, []byte(`"answer"`))
		}
		return n
	}
	rare := func() bool {
		now, sofar := monotonic(), slices.Clone(history)
		for _, r := range all {
			sofar = append(sofar, h.historyOf(r.client, now)...)
		}
		return !enough(sofar)
	}
	for i := 0; i < kills || i < 3*kills && rare(); i++ { // spread over the history
		h.until("the clients are at work", func() bool { return logged() >= (i+1)*operations/(kills+1) })
		victim := rnd.IntN(len(all))
		kill(all[victim])
		all[victim] = start()
	}
	h.until("the clients have done what they were to", func() bool { return logged() >= operations })
	for _, r := range all {
		_ = r.stdin.Close()
	}
	for _, r := range all {
		h.until("client "+r.Log+" is done", func() bool {
			data, _ := os.ReadFile(r.Log)
			return bytes.Contains(data, []byte(`"done"`))
		})
	}
	for _, r := range all {
		kill(r)
	}
	all = nil
	return history
}

// historyOf are the operations of one client: what has no answer at a moment is cut then.
func (h *home) historyOf(c client, then int64) []porcupine.Operation {
	h.Helper()
	data, err := os.ReadFile(c.Log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.Fatal(err)
	}
	var ops []porcupine.Operation
	for text := range bytes.Lines(data) {
		if !bytes.HasSuffix(text, []byte("\n")) {
			break // being written
		}
		var e logEntry
		if err := json.Unmarshal(text, &e); err != nil {
			h.Fatalf("%s: %q: %v", c.Log, text, err)
		}
		switch {
		case e.Done:
		case e.Do != nil:
			ops = append(ops, porcupine.Operation{Input: *e.Do, Output: answerCut, Call: e.At, Return: then})
		default:
			ops[len(ops)-1].Output, ops[len(ops)-1].Return = e.Answer, e.At
		}
	}
	return ops
}

// tally counts the operations of each kind by their answers, and those that a kill has cut.
func tally(history []porcupine.Operation) (done, refused map[string]int, cut int) {
	done, refused = map[string]int{}, map[string]int{}
	for _, o := range history {
		answer, _ := o.Output.(string)
		what := input(o.Input).What
		switch {
		case answer == answerCut:
			cut++
		case queue.State(answer).Known(), what == "die":
			done[what]++
		case strings.HasPrefix(answer, "refused"):
			refused[what]++
		}
	}
	return done, refused, cut
}

func TestHandoffsOfEightProcessesAreLinearizable(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("HANDOFF_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HANDOFF_TEST_SEED=%d", seed)
	const kills = 50
	h := newHome(t)
	least := map[string]int{"request": 20, "claim": 20, "complete": 10, "fail": 5, "reclaim": 3, "retry": 3, "cancel": 3}
	history := h.play(seed, 8, 2500, kills, false, func(history []porcupine.Operation) bool {
		done, refused, _ := tally(history)
		for what, n := range least {
			if done[what] < n || refused[what] < n {
				return false
			}
		}
		return true
	})
	for _, o := range history {
		if answer, _ := o.Output.(string); strings.HasPrefix(answer, "error:") {
			t.Errorf("%+v: %s", o.Input, answer)
		}
	}
	done, refused, cut := tally(history)
	t.Logf("done %v, refused %v, cut %d", done, refused, cut)
	for what, n := range least {
		if done[what] < n || refused[what] < n {
			t.Errorf("%s: %d done, %d refused; a history with fewer than %d of each says little", what, done[what], refused[what], n)
		}
	}
	if done["die"] < 3*kills || cut == 0 {
		t.Errorf("%d deaths in three sessions, %d operations cut", done["die"], cut)
	}
	if got := porcupine.CheckOperationsTimeout(model(), history, patience); got != porcupine.Ok {
		t.Errorf("the history is %s", got)
	}
}

func TestHistoryOfAQueueThatForgotItsLockIsFound(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		history := newHome(t).play(seed, 8, 300, 2, true, func([]porcupine.Operation) bool { return true })
		if porcupine.CheckOperationsTimeout(model(), history, patience) == porcupine.Illegal {
			return
		}
	}
	t.Error("claims without the lock, and no history shows it")
}
