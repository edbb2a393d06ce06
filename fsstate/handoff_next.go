package fsstate

import (
	"strings"
	"time"
)

// nextLife is for how long a look at a queue serves the claims that come right after it: a request that the clock has set
// before others waits as long at most.
const nextLife = 2 * time.Second

// nextName is the file of what waits next for a platform. It is in tmp/: nothing depends on it.
func nextName(platform string) string { return "next-" + idPart(platform)[:idShort] }

// RememberNext keeps the oldest ids that wait for a platform for the claims that come right after this one: to the kernel,
// listing a folder of ten thousand files is more than all the rest of a claim. That it cannot be written is no matter.
func (hf HandoffFiles) RememberNext(platform string, ids []string) {
	_ = hf.Store.Write(Tmp, nextName(platform), []byte(strings.Join(ids, "\n")))
}

// Next are ids that waited for a platform a moment ago, the oldest request first; nil where nothing is remembered. Each
// may have been claimed since, and what came back meanwhile is missing: only Oldest tells that nothing waits.
func (hf HandoffFiles) Next(platform string, now time.Time) []string {
	data, info, err := hf.Store.Read(Tmp, nextName(platform))
	if age := now.Round(0).Sub(info.ModTime); err != nil || age < 0 || age > nextLife {
		return nil
	}
	may, ids := ForPlatform(platform), strings.Split(string(data), "\n")
	for i, id := range ids {
		if !may(id) || i > 0 && id <= ids[i-1] {
			return ids[:i] // not as it was written
		}
	}
	return ids
}

// ForgetNext is for when a handoff waits again, which is older than others.
func (hf HandoffFiles) ForgetNext(platform string) { _ = hf.Store.Discard(Tmp, nextName(platform)) }
