package doctor_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hermes-supervisor/cmd/hermes-supervisor/config"
	"hermes-supervisor/cmd/hermes-supervisor/doctor"
	"hermes-supervisor/cmd/hermes-supervisor/manager"
	"hermes-supervisor/fsstate"
	"hermes-supervisor/fsstate/ident"
	"hermes-supervisor/policy/phase"
	"hermes-supervisor/policy/queue"
)

func TestAHealthyHomeHasNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn("at-work", func(t *fsstate.Turn) {
		self, err := ident.Self(ident.NewInstance())
		w.must(err)
		t.Keeper, t.Owner = self, self
	})
	before := w.snapshot()
	report := doctor.Run(context.Background(), w.env(), doctor.Checks(), nil)
	if len(report) != len(doctor.Checks()) {
		t.Errorf("%d lines for %d checks", len(report), len(doctor.Checks()))
	}
	for i, f := range report {
		if f.Status != doctor.OK || f.Remedy != "" || f.Check != doctor.Checks()[i].Name {
			t.Errorf("%+v", f)
		}
	}
	if diff := cmp.Diff(before, w.snapshot()); diff != "" {
		t.Errorf("a look has changed something:\n%s", diff)
	}
}

// plant is one thing that is wrong.
type plant struct {
	name  string
	put   func(w *world)
	check string
	is    doctor.Status
	text  string // $DIR is the world's folder
	mend  string
	heals bool // the remedy, run by a shell, makes it ok
}

func TestEachPlantedProblemIsFound(t *testing.T) {
	t.Parallel()
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p.put(w)
			in := strings.NewReplacer("$DIR", w.dir, "$PID", strconv.Itoa(os.Getpid()), "$ID", w.id)
			want := []doctor.Finding{{Check: p.check, Status: p.is, Text: in.Replace(p.text), Remedy: in.Replace(p.mend)}}
			found := w.look()
			if diff := cmp.Diff(want, found); diff != "" {
				t.Fatal(diff)
			}
			if !p.heals {
				return
			}
			w.mend(found[0].Remedy)
			if left := w.look(); len(left) > 0 {
				t.Errorf("after %s:\n%+v", found[0].Remedy, left)
			}
		})
	}
}

const toLocal = `sudo install -d -m 700 -o "$(id -un)" /var/lib/hermes && export HERMES_HOME=/var/lib/hermes`

var plants = []plant{
	{"the home is a file", func(w *world) {
		w.flag = w.path("user/other")
		w.writeAt(w.flag, "")
	}, "home", doctor.Problem, "home $DIR/user/other: is a regular file, not a directory", "mv -- $DIR/user/other $DIR/user/other.old", true},
	{
		"the folder above the home is missing", func(w *world) { w.flag = w.path("disk/hermes") },
		"home", doctor.Problem, "$DIR/disk/hermes does not exist, and neither does $DIR/disk (is its disk mounted?): a first turn would be refused", "mkdir -p -m 700 $DIR/disk/hermes", true,
	},
	{"the home cannot be written", func(w *world) {
		w.change = func(e *doctor.Env) {
			e.Writable = func(path string) error {
				if path == w.home {
					return syscall.EACCES
				}
				return nil
			}
		}
	}, "home", doctor.Problem, "$DIR/user/.hermes cannot be written: permission denied", "chmod u+rwx $DIR/user/.hermes", false},
	{"the file system of the home is read-only", func(w *world) {
		w.change = func(e *doctor.Env) {
			e.Writable = func(path string) error {
				if path == w.home {
					return syscall.EROFS
				}
				return nil
			}
		}
	}, "home", doctor.Problem, "$DIR/user/.hermes cannot be written: read-only file system", toLocal, false},
	{
		"others may write the home", func(w *world) { w.must(os.Chmod(w.home, 0o770)) },
		"home", doctor.Warning, "$DIR/user/.hermes may be written by others (mode 0770), who could put another supervisor/ in it", "chmod go-w $DIR/user/.hermes", true,
	},
	{"the home is a link into nothing", func(w *world) {
		w.flag = w.path("user/linked")
		w.must(os.Symlink("disk", w.flag))
	}, "home", doctor.Problem, "$DIR/user/linked is a link to $DIR/user/disk, which is not there (is its disk mounted?)", "mkdir -p -m 700 -- $DIR/user/disk", true},
	{
		"the profile is gone", func(w *world) { w.flag = filepath.Join(w.home, "profiles", "work") },
		"home", doctor.Problem, "home $DIR/user/.hermes/profiles/work: profile work does not exist: stat $DIR/user/.hermes/profiles/work: no such file or directory", "hermes profile use default", false,
	},

	{
		"others may write the state", func(w *world) { w.must(os.Chmod(w.state(""), 0o777)) },
		"permissions", doctor.Problem, "$DIR/user/.hermes/supervisor may be written by others (mode 0777)", "chmod go-w $DIR/user/.hermes/supervisor", true,
	},
	{
		"a FIFO in the place of a record", func(w *world) { w.must(syscall.Mkfifo(w.state("turns/a.json"), 0o600)) },
		"permissions", doctor.Problem, "$DIR/user/.hermes/supervisor/turns/a.json is a FIFO, not a regular file", "rm -- $DIR/user/.hermes/supervisor/turns/a.json", true,
	},
	{"a link in the place of the journal", func(w *world) {
		w.must(os.Remove(w.state("journal.jsonl")))
		w.must(os.Symlink("/dev/zero", w.state("journal.jsonl")))
	}, "permissions", doctor.Problem, "$DIR/user/.hermes/supervisor/journal.jsonl is a symbolic link, not a regular file", "rm -- $DIR/user/.hermes/supervisor/journal.jsonl", true},
	{"others may write a record", func(w *world) {
		w.turn("a", nil)
		w.must(os.Chmod(w.state("turns/a.json"), 0o666))
	}, "permissions", doctor.Problem, "$DIR/user/.hermes/supervisor/turns/a.json may be written by others (mode 0666)", "chmod go-w $DIR/user/.hermes/supervisor/turns/a.json", true},
	{"a record of a terabyte", func(w *world) {
		w.writeAt(w.state("turns/a.json"), "")
		w.must(os.Truncate(w.state("turns/a.json"), 1<<40))
	}, "permissions", doctor.Problem, "$DIR/user/.hermes/supervisor/turns/a.json is larger than 1048576 bytes", "mv -- $DIR/user/.hermes/supervisor/turns/a.json $DIR/user/.hermes/", true},
	{"a record with two names", func(w *world) {
		w.turn("a", nil)
		w.must(os.Link(w.state("turns/a.json"), w.path("second")))
	}, "permissions", doctor.Problem, "$DIR/user/.hermes/supervisor/turns/a.json has more than one name (hard link)", "cp -p -- $DIR/user/.hermes/supervisor/turns/a.json $DIR/user/.hermes/supervisor/turns/a.json.copy && mv -f -- $DIR/user/.hermes/supervisor/turns/a.json.copy $DIR/user/.hermes/supervisor/turns/a.json", true},

	{"a network file system", func(w *world) {
		w.change = func(e *doctor.Env) { e.FileSystem = func(string) (bool, string, error) { return false, "nfs", nil } }
	}, "filesystem", doctor.Problem, "$DIR/user/.hermes lies on nfs, whose locks are not trusted: everything that writes refuses it", toLocal, false},
	{"a network file system that is allowed", func(w *world) {
		w.change = func(e *doctor.Env) {
			e.Unsafe = true
			e.FileSystem = func(string) (bool, string, error) { return false, "nfs", nil }
		}
	}, "filesystem", doctor.Warning, "$DIR/user/.hermes lies on nfs, whose locks are not trusted: nobody else may use this home (--unsafe-filesystem)", toLocal, false},
	{"a full disk", func(w *world) {
		w.change = func(e *doctor.Env) {
			e.Space = func(string) (doctor.Space, error) { return doctor.Space{Free: 3 << 20}, nil }
		}
	}, "filesystem", doctor.Problem, "$DIR/user/.hermes: the disk is full (3 MiB left)", "du -xh $DIR/user/.hermes | sort -h | tail -n 20", false},
	{"little room", func(w *world) {
		w.change = func(e *doctor.Env) {
			e.Space = func(string) (doctor.Space, error) { return doctor.Space{Free: 300 << 20}, nil }
		}
	}, "filesystem", doctor.Warning, "$DIR/user/.hermes: little room on the disk (300 MiB left)", "du -xh $DIR/user/.hermes | sort -h | tail -n 20", false},
	{"no inodes", func(w *world) {
		w.change = func(e *doctor.Env) {
			e.Space = func(string) (doctor.Space, error) { return doctor.Space{Free: 9 << 30, Files: 12, Total: 1000}, nil }
		}
	}, "filesystem", doctor.Problem, "$DIR/user/.hermes: no more than 12 files can be made (inodes)", "du -x --inodes $DIR/user/.hermes | sort -n | tail -n 20", false},

	{"locks that do not exclude", func(w *world) {
		w.change = func(e *doctor.Env) { e.LockTry[1] = "lock-lies" }
	}, "locks", doctor.Problem, "locks do not hold here: while this process held it, a second one saw it FREE; two could work on one turn", toLocal, false},
	{"a second process that cannot be started", func(w *world) {
		w.change = func(e *doctor.Env) { e.LockTry[1] = "lock-fails" }
	}, "locks", doctor.Problem, "locks cannot be tried: the second process failed: exit status 3", "hermes-supervisor version", false},
	{"a lock that is not given back", func(w *world) {
		unlock, err := w.store.Lock(context.Background(), "a", "claim service gateway")
		w.must(err)
		w.t.Cleanup(unlock)
	}, "locks", doctor.Problem, "$DIR/user/.hermes/supervisor/locks/ca.lock is not given back by pid $PID (claim service gateway)", "kill $PID", false},

	{
		"a fault in hermes.toml", func(w *world) { w.writeAt(w.toml, "\n[agent.claude]\ncomand = [\"claude\"]\n") },
		"configuration", doctor.Problem, `$DIR/user/.config/hermes-supervisor/hermes.toml:3: agent.claude.comand: unknown key (did you mean "command"?)`, "${EDITOR:-vi} +3 $DIR/user/.config/hermes-supervisor/hermes.toml", false,
	},
	{"others may write hermes.toml", func(w *world) {
		w.writeAt(w.toml, "")
		w.must(os.Chmod(w.toml, 0o666))
	}, "configuration", doctor.Problem, "$DIR/user/.config/hermes-supervisor/hermes.toml: can be written by others (mode 0666)", "chmod go-w $DIR/user/.config/hermes-supervisor/hermes.toml", true},
	{
		"hermes.toml is a FIFO", func(w *world) { w.must(syscall.Mkfifo(w.toml, 0o600)) },
		"configuration", doctor.Problem, "$DIR/user/.config/hermes-supervisor/hermes.toml: is a named pipe, not a regular file", "mv -- $DIR/user/.config/hermes-supervisor/hermes.toml $DIR/user/.config/hermes-supervisor/hermes.toml.old", true,
	},
	{"the file that the variable names is missing", func(w *world) {
		w.change = func(e *doctor.Env) {
			e.Source.Path, e.Source.Explicit = w.path("user/.config/hermes-supervisor/no.toml"), true
			e.Config, e.ConfigErr = config.Load(e.Source)
		}
	}, "configuration", doctor.Problem, "$DIR/user/.config/hermes-supervisor/no.toml: no such file", "unset HERMES_SUPERVISOR_CONFIG", false},

	{
		"others may read the key", func(w *world) { w.must(os.Chmod(w.path("user/.config/hermes-supervisor/key"), 0o644)) },
		"key", doctor.Problem, "$DIR/user/.config/hermes-supervisor/key may be read by others (mode 0644), who could forge records", "chmod 600 $DIR/user/.config/hermes-supervisor/key", true,
	},
	{
		"others may write the key", func(w *world) { w.must(os.Chmod(w.path("user/.config/hermes-supervisor/key"), 0o666)) },
		"key", doctor.Problem, "$DIR/user/.config/hermes-supervisor/key may be written by others (mode 0666)", "chmod 600 $DIR/user/.config/hermes-supervisor/key", true,
	},
	{
		"the key is no key", func(w *world) { w.writeAt(w.path("user/.config/hermes-supervisor/key"), "secret\n") },
		"key", doctor.Problem, "read $DIR/user/.config/hermes-supervisor/key: document is not a key of 32 bytes in hex", "mv -- $DIR/user/.config/hermes-supervisor/key $DIR/user/.config/hermes-supervisor/key.old", true,
	},

	{"the key is gone", func(w *world) {
		w.turn("a", nil)
		w.must(os.Remove(w.path("user/.config/hermes-supervisor/key")))
	}, "key", doctor.Problem, "$DIR/user/.config/hermes-supervisor/key is missing, and the records of this home were sealed with it: nothing is continued without a person", "hermes-supervisor turn resume --all", false},

	{"no inotify instance is left", func(w *world) {
		w.write("proc/sys/fs/inotify/max_user_instances", "2\n")
		w.watcher(4711, 3)
	}, "inotify", doctor.Warning, "1 of 2 inotify instances are in use by you, 2 are needed: changes are polled for instead", "sudo sysctl fs.inotify.max_user_instances=512", false},
	{"no inotify watch is left", func(w *world) {
		w.write("proc/sys/fs/inotify/max_user_watches", "8192\n")
		w.watcher(4711, 8190)
	}, "inotify", doctor.Warning, "8190 of 8192 inotify watches are in use by you, 5 are needed: changes are polled for instead", "sudo sysctl fs.inotify.max_user_watches=524288", false},

	{"the clock was set back behind the journal", func(w *world) {
		w.must(w.store.Journal(fsstate.Event{Kind: "turn", Time: w.now.Add(time.Hour).Truncate(time.Second)}))
		w.now = w.now.Truncate(time.Second)
	}, "clock", doctor.Problem, "the clock is 1h0m0s behind the newest line of the journal", "sudo timedatectl set-ntp true", false},
	{
		"the clock of a machine without a battery", func(w *world) { w.now = time.Date(1970, 1, 1, 0, 5, 0, 0, time.UTC) },
		"clock", doctor.Problem, "the clock says 1970-01-01T00:05:00Z, which is before this program was made", "sudo timedatectl set-ntp true", false,
	},
	{"the clock was set back since the boot", func(w *world) {
		w.now = w.now.Truncate(time.Second)
		w.write("proc/stat", "btime "+strconv.FormatInt(w.now.Add(2*time.Hour).Unix(), 10)+"\n")
	}, "clock", doctor.Problem, "the clock was set back by 2h0m0s or more since this machine booted", "sudo timedatectl set-ntp true", false},
	{"a turn from the future", func(w *world) {
		w.now = w.now.Truncate(time.Second)
		w.turn("a", nil)
		w.must(os.Chtimes(w.state("turns/a.json"), time.Time{}, w.now.Add(time.Hour)))
	}, "clock", doctor.Problem, "turn a was last seen 1h0m0s ahead of the clock, and is not continued until then", "sudo timedatectl set-ntp true", false},

	{
		"an agent that is not there", func(w *world) { w.writeAt(w.toml, "[agent.codex]\n") },
		"agents", doctor.Problem, "agent codex is in hermes.toml, and PATH has no codex", "npm install -g @openai/codex", false,
	},
	{
		"an agent of one's own that is not there", func(w *world) { w.writeAt(w.toml, "[agent.mine]\ncommand = [\"/no/such/agent\"]\n") },
		"agents", doctor.Problem, "agent mine is in hermes.toml, and its program /no/such/agent is not found", "${EDITOR:-vi} $DIR/user/.config/hermes-supervisor/hermes.toml", false,
	},
	{"an agent that cannot be run", func(w *world) {
		w.program("mine", "echo 1.2")
		w.must(os.Chmod(w.path("bin/mine"), 0o600))
		w.writeAt(w.toml, "[agent.mine]\ncommand = [\""+w.path("bin/mine")+"\"]\n")
	}, "agents", doctor.Problem, "agent mine cannot be run: exec: \"$DIR/bin/mine\": permission denied", "chmod u+x $DIR/bin/mine", true},
	{"an agent that fails", func(w *world) {
		w.program("claude", "exit 9")
		w.writeAt(w.toml, "[agent.claude]\n")
	}, "agents", doctor.Warning, "agent claude does not tell its version: $DIR/bin/claude: exit status 9", "$DIR/bin/claude --version", false},

	{
		"hooks whose program is gone", func(w *world) { w.hooks("claude", "/opt/gone/hermes-supervisor") },
		"hooks", doctor.Problem, "claude: its hooks run /opt/gone/hermes-supervisor, which is gone ($DIR/user/.claude/settings.json)", "hermes-supervisor hooks install claude", false,
	},
	{"hooks of another program", func(w *world) {
		w.program("hermes-supervisor", "")
		w.hooks("claude", w.path("bin/hermes-supervisor"))
	}, "hooks", doctor.Warning, "claude: its hooks run another program than this one: $DIR/bin/hermes-supervisor ($DIR/user/.claude/settings.json)", "hermes-supervisor hooks install claude", false},
	{
		"a plugin whose program is gone", func(w *world) { w.hooks("opencode", "/opt/gone/hermes-supervisor") },
		"hooks", doctor.Problem, "opencode: its hooks run /opt/gone/hermes-supervisor, which is gone ($DIR/user/.config/opencode)", "hermes-supervisor hooks install opencode", false,
	},
	{
		"hooks that hermes.toml counts on", func(w *world) { w.writeAt(w.toml, "[agent.claude]\nunattended = true\n") },
		"hooks", doctor.Warning, "claude: hermes.toml says unattended = true, and no hook of ours reports its turns ($DIR/user/.claude/settings.json)", "hermes-supervisor hooks install claude", false,
	},
	{
		"settings that are no JSON", func(w *world) { w.write("user/.claude/settings.json", "{") },
		"hooks", doctor.Warning, "claude: read $DIR/user/.claude/settings.json: it is no JSON", "${EDITOR:-vi} $DIR/user/.claude/settings.json", false,
	},

	{
		"run is down", func(w *world) { w.writeAt(w.toml, "[[service]]\nname = \"web\"\ncommand = [\"/bin/true\"]\n") },
		"supervisor", doctor.Warning, "run is down, and hermes.toml has services or platforms for it", "hermes-supervisor run", false,
	},
	{"two supervisors", func(w *world) {
		for _, name := range []string{"one", "two"} {
			self, err := ident.Self(ident.NewInstance())
			w.must(err)
			w.service(name, phase.State{}, self)
		}
	}, "supervisor", doctor.Problem, "two supervisors have services of this home: pid $PID and pid $PID", "kill $PID", false},

	{"run is stopped by a signal", func(w *world) {
		w.change = func(e *doctor.Env) {
			e.Run = func() (doctor.Life, error) {
				return doctor.Life{PID: 77, Text: "run (pid 77) is stopped by a signal", Remedy: "kill -CONT 77"}, nil
			}
		}
	}, "supervisor", doctor.Problem, "run (pid 77) is stopped by a signal", "kill -CONT 77", false},
	{"a file that names no run", func(w *world) {
		w.writeAt(w.state("supervisor.json"), "{")
		w.change = func(e *doctor.Env) {
			e.Run = func() (doctor.Life, error) { _, err := w.store.Supervisor(); return doctor.Life{}, err }
		}
	}, "supervisor", doctor.Problem, "read $DIR/user/.hermes/supervisor/supervisor.json: document is not JSON: EOF", "mv -- $DIR/user/.hermes/supervisor/supervisor.json $DIR/user/.hermes/supervisor/supervisor.json.old", false},

	{"a unit whose program is gone", func(w *world) {
		w.lingering()
		w.unit("hermes-supervisor.service", time.Hour)
		text, err := os.ReadFile(w.path("units/hermes-supervisor.service"))
		w.must(err)
		w.write("units/hermes-supervisor.service", strings.Replace(string(text), "ExecStart=/bin/sh", "ExecStart=/opt/gone/hermes-supervisor", 1))
	}, "manager", doctor.Problem, "$DIR/units/hermes-supervisor.service runs /opt/gone/hermes-supervisor, which is gone", "hermes-supervisor install systemd --user", false},
	{"Hermes's own unit beside ours", func(w *world) {
		w.lingering()
		w.unit("hermes-supervisor.service", time.Hour)
		w.write("units/hermes-gateway.service", "[Service]\nExecStart=/usr/bin/python3 -m hermes_cli.main gateway run\nEnvironment=HERMES_HOME="+w.home+"\n")
	}, "manager", doctor.Problem, "hermes-gateway.service ($DIR/units/hermes-gateway.service), Hermes's own, runs the gateway of this home too: each would end the other's", "systemctl --user disable --now hermes-gateway.service && rm $DIR/units/hermes-gateway.service", false},
	{"two units of ours", func(w *world) {
		w.lingering()
		w.unit("hermes-supervisor.service", time.Hour)
		w.unit("hermes-supervisor-old.service", time.Hour)
	}, "manager", doctor.Problem, "$DIR/units/hermes-supervisor-old.service and $DIR/units/hermes-supervisor.service both run this home, and one of them is refused", "systemctl --user disable --now hermes-supervisor.service && rm $DIR/units/hermes-supervisor.service", false},
	{
		"no linger", func(w *world) { w.unit("hermes-supervisor.service", time.Hour) },
		"manager", doctor.Warning, "hermes-supervisor.service ends with your last logout: your user manager does not linger", "loginctl enable-linger ada", false,
	},
	{"a stop budget that is too small", func(w *world) {
		w.lingering()
		w.unit("hermes-supervisor.service", 10*time.Second)
	}, "manager", doctor.Problem, "$DIR/units/hermes-supervisor.service gives an ordered stop 10s, and it may take " + manager.StopBudget(config.Config{}).Total().String() + ": run would be killed in the middle of it", "hermes-supervisor install systemd --user", false},

	{"a service's folder is not there", func(w *world) {
		w.writeAt(w.toml, "[[service]]\nname = \"web\"\nautostart = false\ncommand = [\"/bin/true\"]\ncwd = \""+w.path("work")+"\"\n")
		w.running()
	}, "services", doctor.Problem, "service web: its cwd $DIR/work is not there", "mkdir -p -- $DIR/work", true},
	{
		"nobody is told", func(w *world) { w.writeAt(w.toml, "[notify]\ncommand = [\"/no/such/notify\"]\n") },
		"services", doctor.Problem, "notify: its program /no/such/notify is not found", "${EDITOR:-vi} $DIR/user/.config/hermes-supervisor/hermes.toml", false,
	},
	{
		"what is counted goes nowhere", func(w *world) { w.writeAt(w.toml, "[metrics]\ntextfile = \""+w.path("exporter/hermes.prom")+"\"\n") },
		"services", doctor.Problem, "metrics: the folder of textfile, $DIR/exporter, is not there", "mkdir -p -- $DIR/exporter", true,
	},
	{"a parked service", func(w *world) {
		w.service("gateway", phase.State{Phase: phase.Parked, Up: true, Reason: phase.ReasonParked, Last: &phase.Exit{Code: 78, Reason: "no token"}}, ident.Ident{})
	}, "services", doctor.Problem, "service gateway is parked: its exit status asked not to be started again (no token)", "hermes-supervisor start gateway", false},
	{"a crash loop", func(w *world) {
		w.service("gateway", phase.State{Phase: phase.Waiting, Up: true, Reason: phase.ReasonCrashLoop}, ident.Ident{})
	}, "services", doctor.Problem, "service gateway: it ends again and again, so its automatic starts are slowed", "hermes-supervisor logs gateway", false},

	{
		"a turn that waits for a person", func(w *world) { w.turn("a b", func(t *fsstate.Turn) { t.AutoContinue = false }) },
		"turns", doctor.Warning, "turn a b waits for a person: the turn was started without consent to be continued", "hermes-supervisor turn resume 'a b'", false,
	},
	{
		"a failed handoff", func(w *world) { w.handoff(queue.Failed) },
		"handoffs", doctor.Warning, "handoff $ID to telegram failed: whoever delivered it reported a failure", "hermes-supervisor handoff retry $ID", false,
	},
	{
		"a handoff that nobody delivers", func(w *world) { w.handoff(queue.Pending) },
		"handoffs", doctor.Warning, "handoff $ID to telegram: nobody who is configured here delivers to its platform", "hermes-supervisor handoff cancel $ID", false,
	},

	{
		"a turn that does not verify", func(w *world) { w.turn("a", func(t *fsstate.Turn) { t.Verified = false }) },
		"records", doctor.Problem, "turn a does not verify: another key sealed it, or somebody changed it", "hermes-supervisor turn clear a", false,
	},
	{
		"Hermes's own file is broken", func(w *world) { w.writeAt(filepath.Join(w.home, "desktop", "interrupted_turns.json"), "{") },
		"records", doctor.Problem, "read $DIR/user/.hermes/desktop/interrupted_turns.json: unexpected end of JSON input: no turn of Hermes's is seen", "mv -- $DIR/user/.hermes/desktop/interrupted_turns.json $DIR/user/.hermes/desktop/interrupted_turns.json.old", true,
	},
	{
		"a broken turn", func(w *world) { w.writeAt(w.state("turns/a.json"), "{") },
		"records", doctor.Problem, "read $DIR/user/.hermes/supervisor/turns/a.json: document is not JSON: EOF", "hermes-supervisor turn list", false,
	},

	{
		"a file that was set aside", func(w *world) { w.old("turns/a.json.corrupt-20260101T000000.000000000Z", 0) },
		"leftovers", doctor.Warning, "$DIR/user/.hermes/supervisor/turns/a.json.corrupt-20260101T000000.000000000Z was set aside as broken", "rm -- $DIR/user/.hermes/supervisor/turns/a.json.corrupt-20260101T000000.000000000Z", true,
	},
	{
		"what killed writers left", func(w *world) { w.old("tmp/x", 2*time.Hour) },
		"leftovers", doctor.Warning, "1 file of killed writers in tmp/", "hermes-supervisor sweep", false,
	},
	{"files of instances that are gone", func(w *world) {
		instance := ident.NewInstance()
		w.old("run/"+instance+".in", 2*time.Hour)
		w.old("run/"+instance+".out", 2*time.Hour)
	}, "leftovers", doctor.Warning, "2 files in run/ of instances that are gone", "hermes-supervisor sweep", false},
	{
		"an order that expired", func(w *world) { w.old("requests/order-x.json", 5*time.Minute) },
		"leftovers", doctor.Warning, "1 order expired, and no supervisor took it", "rm -- $DIR/user/.hermes/supervisor/requests/order-x.json", true,
	},
	{
		"a journal of a terabyte", func(w *world) { w.must(os.Truncate(w.state("journal.jsonl"), 1<<40)) },
		"journal", doctor.Warning, "$DIR/user/.hermes/supervisor/journal.jsonl has 1024.0 GiB, and is turned over at 4 MiB", "truncate -s 0 $DIR/user/.hermes/supervisor/journal.jsonl", true,
	},
}

// watcher is a process with one inotify instance, as /proc shows it.
func (w *world) watcher(pid, watches int) {
	dir := "proc/" + strconv.Itoa(pid)
	w.write(dir+"/fdinfo/5", "pos:\t0\nflags:\t02004000\n"+strings.Repeat("inotify wd:1 ino:2 sdev:3 mask:4\n", watches))
	w.must(os.Mkdir(w.path(dir+"/fd"), 0o700))
	w.must(os.Symlink("anon_inode:inotify", w.path(dir+"/fd/5")))
}

// hooks installs hooks that run a program.
func (w *world) hooks(agent, program string) {
	t, err := w.env().Target(agent)
	w.must(err)
	t.Command = []string{program, "hook", agent}
	changes, err := t.Install()
	w.must(err)
	for _, c := range changes {
		w.writeAt(c.Path, string(c.After))
	}
}

// running has a run turn its loop.
func (w *world) running() {
	w.change = func(e *doctor.Env) {
		e.Run = func() (doctor.Life, error) { return doctor.Life{PID: 77, Lives: true}, nil }
	}
}

func (w *world) lingering() { w.write("linger/ada", "") }

func (w *world) unit(name string, stop time.Duration) {
	job := manager.Job{Program: "/bin/sh", Home: w.home, Budget: manager.Budget{Services: stop}}
	w.write("units/"+name, manager.SystemdUnit(job, false))
}

func (w *world) service(name string, s phase.State, supervisor ident.Ident) {
	state, err := json.Marshal(s)
	w.must(err)
	w.must(fsstate.ServiceFiles{Store: w.store, Key: w.key}.Put(&fsstate.Service{Service: name, State: state, Supervisor: supervisor}))
}

func (w *world) handoff(state queue.State) {
	at := w.now.Add(-time.Minute)
	h := &fsstate.Handoff{
		ID: fsstate.NewHandoffID("s", "telegram", "", at), Session: "s", Platform: "telegram", State: string(state), RequestedAt: at, Verified: true,
	}
	if state == queue.Failed {
		h.End = &fsstate.HandoffEnd{Reason: string(queue.ReasonHandlerFailed), At: at}
	}
	w.id = h.ID
	w.must(fsstate.HandoffFiles{Store: w.store, Key: w.key}.Put(h))
}

// An agent that never answers, prints without end, or leaves a child that holds its output, holds nobody up and fills
// nothing.
func TestAnAgentThatDoesNotAnswerHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"sleeps": "exec sleep 600", "prints": "exec yes 1.2.3", "leaves": "sleep 600 & wait"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.program("claude", script)
			w.writeAt(w.toml, "[agent.claude]\n")
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			for _, c := range doctor.Checks() {
				if c.Name != "agents" {
					continue
				}
				want := []doctor.Finding{{
					Status: doctor.Warning, Text: "agent claude does not tell its version: " + w.path("bin/claude") + ": no answer within 5s",
					Remedy: w.path("bin/claude") + " --version",
				}}
				if diff := cmp.Diff(want, c.Look(ctx, w.env())); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestVersionsAreShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.program("codex", `echo "codex-cli 0.171.0-alpha.2"`)
	w.program("gemini", `[ -t 0 ] || read -r line; echo "v0.61.0 $line"`)
	w.writeAt(w.toml, "[agent.claude]\n")
	for _, f := range doctor.Run(context.Background(), w.env(), doctor.Checks(), nil) {
		if f.Check == "agents" && f.Text != "claude 2.1.197, codex 0.171.0-alpha.2 (not in hermes.toml), gemini 0.61.0 (not in hermes.toml)" {
			t.Errorf("%+v", f)
		}
	}
}
