package queue

// Limits say how many deliveries run at once in one home.
type Limits struct {
	Home int // of all platforms that the dispatcher delivers to
	// Platform is the limit of one platform; 0 or a platform that is not in it: that of the home.
	Platform map[string]int
}

// Due chooses which of those that wait may be claimed now, as indices into waiting: their platforms, in the order of
// request. running counts the deliveries that run already, by platform. held tells what no limit holds back; it is asked
// only about one that the limits let through. A platform at its limit delays no other.
func Due(waiting []string, running map[string]int, l Limits, held func(i int) bool) []int {
	all := 0
	at := map[string]int{}
	for platform, n := range running {
		at[platform] = n
		all += n
	}
	var due []int
	for i, platform := range waiting {
		if all >= l.Home {
			break
		}
		if limit := l.Platform[platform]; limit > 0 && at[platform] >= limit || held(i) {
			continue
		}
		due = append(due, i)
		at[platform]++
		all++
	}
	return due
}
