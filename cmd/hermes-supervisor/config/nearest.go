package config

import "strings"

// maxDistance is how many edits a word may be away from the one that was meant.
const maxDistance = 3

// nearestKey returns the known word with the smallest edit distance from the given one: at most three edits, and fewer
// than the shorter of the two has letters (three edits make any word of three letters out of any other). Of equal ones
// the first wins. Case and "-" for "_" count as nothing.
func nearestKey(given string, known []string) string {
	fold := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }
	best, bestDistance := "", maxDistance+1
	for _, word := range known {
		if abs(len(given)-len(word)) > maxDistance {
			continue // also keeps a key of a megabyte out of the table below
		}
		if d := distance(fold(given), fold(word)); d < bestDistance && d < min(len(given), len(word)) {
			best, bestDistance = word, d
		}
	}
	return best
}

// distance is Levenshtein's: insertions, deletions and substitutions of bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func abs(n int) int {
	return max(n, -n)
}
