package syntax

import (
	"slices"
	"strings"
)

// maxNearName bounds the names that are compared, as the comparison takes the
// product of their lengths.
const maxNearName = 64

// Nearest gives the name most like another: differing in case alone, or by few
// letters for its length; "" if there is none.
func Nearest(name string, among []string) string {
	best, least := "", 0
	among = slices.Clone(among)
	slices.Sort(among)
	for _, a := range among {
		if len(a) > maxNearName || len(name) > maxNearName || a == name {
			continue
		}
		d := distance(strings.ToLower(name), strings.ToLower(a))
		if d > max(len(name), len(a))/3 && d > 0 && !(strings.HasPrefix(name, a) && len(name)-len(a) <= 3) {
			continue
		}
		if best == "" || d < least {
			best, least = a, d
		}
	}
	return best
}

// distance counts the letters to insert, remove or replace; two neighbours that
// change places count once (optimal string alignment).
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
