package follow

import (
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rootProfile is what hermes.toml calls the root home too.
const rootProfile = "default"

// gauges is how one home stands.
type gauges struct {
	profile  string
	services map[string]string // phase, by name
	turns    map[string]int    // open ones, by phase
	handoffs map[string]int    // open ones, by state
}

// exposition writes the text format of Prometheus, version 0.0.4: each family once, with HELP and TYPE before its samples.
type exposition struct{ text strings.Builder }

func (x *exposition) family(name, kind, help string) {
	x.text.WriteString("# HELP " + namespace + name + " " + help + "\n# TYPE " + namespace + name + " " + kind + "\n")
}

const namespace = "hermes_supervisor_"

// sample writes one value; labels are names and values in turn.
func (x *exposition) sample(name, value string, labels ...string) {
	x.text.WriteString(namespace + name)
	for i := 0; i+1 < len(labels); i += 2 {
		x.text.WriteString([]string{",", "{"}[btoi(i == 0)] + labels[i] + `="` + escapeLabel(labels[i+1]) + `"`)
	}
	if len(labels) > 0 {
		x.text.WriteByte('}')
	}
	x.text.WriteString(" " + value + "\n")
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func escapeLabel(value string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(strings.ToValidUTF8(value, "\uFFFD"))
}

func count(n uint64) string { return strconv.FormatUint(n, 10) }

func seconds[T int64 | uint64](millis T) string {
	return strconv.FormatFloat(float64(millis)/1000, 'f', -1, 64)
}

// render is the whole file.
func render(version string, up bool, now time.Time, homes []gauges, s *state) string {
	var x exposition
	x.family("build_info", "gauge", "The program that writes this file.")
	x.sample("build_info", "1", "version", version, "goversion", runtime.Version())
	x.family("up", "gauge", "1 while run is up, 0 after it was stopped in order; after its death the time of the last update stands still.")
	x.sample("up", strconv.Itoa(btoi(up)))
	x.family("last_update_timestamp_seconds", "gauge", "When this file was written.")
	x.sample("last_update_timestamp_seconds", seconds(max(now.UnixMilli(), 0)))

	slices.SortFunc(homes, func(a, b gauges) int { return strings.Compare(a.profile, b.profile) })
	x.family("services", "gauge", "Services that run here, by phase.")
	for _, h := range homes {
		n := map[string]int{}
		for _, phase := range h.services {
			n[phase]++
		}
		for _, phase := range servicePhases() {
			x.sample("services", strconv.Itoa(n[phase]), "profile", label(h.profile), "phase", phase)
		}
	}
	x.family("open_turns", "gauge", "Turns that are open, by phase.")
	for _, h := range homes {
		for _, phase := range turnPhases {
			x.sample("open_turns", strconv.Itoa(h.turns[phase]), "profile", label(h.profile), "phase", phase)
		}
	}
	x.family("open_handoffs", "gauge", "Handoffs that are open, by state.")
	for _, h := range homes {
		for _, state := range handoffStates[:2] {
			x.sample("open_handoffs", strconv.Itoa(h.handoffs[state]), "profile", label(h.profile), "state", state)
		}
	}
	x.counters(homes, s)
	return x.text.String()
}

func label(profile string) string {
	if profile == "" {
		return rootProfile
	}
	return profile
}

// counters writes what the state has counted of these homes.
func (x *exposition) counters(homes []gauges, s *state) {
	each := func(name, kind, help string, samples func(profile string, t *Tally, h gauges)) {
		x.family(name, kind, help)
		for _, h := range homes {
			samples(label(h.profile), &s.at(h.profile).Tally, h)
		}
	}
	pairs := func(name, profile, first, second string, all map[string]map[string]uint64) {
		for _, a := range slices.Sorted(maps.Keys(all)) {
			for _, b := range slices.Sorted(maps.Keys(all[a])) {
				x.sample(name, count(all[a][b]), "profile", profile, first, a, second, b)
			}
		}
	}
	each("turns_total", "counter", "Turns that have ended, by outcome and reason.", func(profile string, t *Tally, _ gauges) {
		pairs("turns_total", profile, "outcome", "reason", t.Turns)
	})
	each("turn_continuations_total", "counter", "Continuations of interrupted turns that have begun.", func(profile string, t *Tally, _ gauges) {
		x.sample("turn_continuations_total", count(t.Continuations), "profile", profile)
	})
	const age = "turn_recovery_age_seconds"
	each(age, "histogram", "From the last proof of life of a turn's agent, or its death, to the start of the continuation.", func(profile string, t *Tally, _ gauges) {
		sum := uint64(0)
		for i, n := range t.Recovery.Buckets {
			end := "+Inf"
			if i < len(bounds) {
				end = seconds(bounds[i])
			}
			sum += n
			x.sample(age+"_bucket", count(sum), "profile", profile, "le", end)
		}
		x.sample(age+"_sum", seconds(t.Recovery.Millis), "profile", profile)
		x.sample(age+"_count", count(sum), "profile", profile)
	})
	each("service_restarts_total", "counter", "Automatic restarts of services.", func(profile string, t *Tally, h gauges) {
		all := map[string]uint64{}
		for name := range h.services {
			all[name] = 0 // so that the first restart is an increase
		}
		maps.Copy(all, t.Restarts)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			x.sample("service_restarts_total", count(all[name]), "profile", profile, "service", name)
		}
	})
	each("handoffs_total", "counter", "Handoffs that have come into a state, by the reason.", func(profile string, t *Tally, _ gauges) {
		pairs("handoffs_total", profile, "state", "reason", t.Handoffs)
	})
	each("lock_waits_total", "counter", "Changes before which their writer had waited 100 ms or more for a lock.", func(profile string, t *Tally, _ gauges) {
		x.sample("lock_waits_total", count(t.LockWaits), "profile", profile)
	})
	each("lock_wait_seconds_total", "counter", "The time that those waits took.", func(profile string, t *Tally, _ gauges) {
		x.sample("lock_wait_seconds_total", seconds(t.LockMillis), "profile", profile)
	})
	each("journal_skipped_lines_total", "counter", "Lines of the journal that are no events.", func(profile string, t *Tally, _ gauges) {
		x.sample("journal_skipped_lines_total", count(t.Skipped), "profile", profile)
	})
	x.family("notifications_total", "counter", "Notices, by event and by what became of them.")
	for _, event := range Events() {
		for _, result := range results {
			x.sample("notifications_total", count(s.Notices[event+" "+result]), "event", event, "result", result)
		}
	}
}
