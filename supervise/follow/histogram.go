package follow

// bounds are the upper ends of the buckets of a Histogram, in milliseconds: a continuation starts at once, after a
// back-off, or when the next supervisor is up.
var bounds = [...]int64{250, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000}

// Histogram counts times.
type Histogram struct {
	Buckets []uint64 `json:"buckets,omitempty"` // one for each of bounds, and one for what is longer; not cumulative
	Millis  uint64   `json:"ms,omitempty"`      // the sum
}

func (h *Histogram) observe(millis int64) {
	h.tidy()
	at := 0
	for at < len(bounds) && millis > bounds[at] {
		at++
	}
	h.Buckets[at]++
	h.Millis += uint64(max(millis, 0))
}

// tidy begins anew where the buckets are those of another version.
func (h *Histogram) tidy() {
	if len(h.Buckets) != len(bounds)+1 {
		*h = Histogram{Buckets: make([]uint64, len(bounds)+1)}
	}
}
