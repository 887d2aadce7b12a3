// Package spelling compares names as text: how far a name that a person wrote is from an existing
// one, so that an error message can suggest it, and whether a name matches a pattern.
package spelling

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// maxName bounds the number of bytes of a name that are compared: the cost grows with the square.
const maxName = 256

// Distance returns the number of bytes that must be inserted, removed or replaced to change one
// name into the other (Levenshtein, "Binary codes capable of correcting deletions, insertions and
// reversals", 1966), for their first 256 bytes. If it is greater than limit, Distance may return
// any number greater than limit.
func Distance(a, b string, limit int) int {
	a, b = a[:min(len(a), maxName)], b[:min(len(b), maxName)]
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
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
			diagonal, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Nearest returns the most names of least distance from a name, nearest first, and those of equal
// distance in alphabetical order. Each is returned once. A name of negative distance is too far.
func Nearest(names iter.Seq[string], most int, distance func(name string) int) []string {
	distances := map[string]int{}
	for name := range names {
		if _, seen := distances[name]; seen {
			continue
		}
		if d := distance(name); d >= 0 {
			distances[name] = d
		}
	}
	near := slices.SortedFunc(maps.Keys(distances), func(a, b string) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b))
	})
	return near[:min(len(near), most)]
}
