// Package spelling compares names as text: how far one that a person wrote is from one
// that exists, so that an error can offer it, and whether one fits a pattern.
package spelling

// maxName bounds what is compared of a name, in bytes: the cost grows with the square.
const maxName = 256

// Distance is how many bytes must be inserted, removed or replaced to make one name
// the other (Levenshtein, "Binary codes capable of correcting deletions, insertions
// and reversals", 1966), by their first 256 bytes; above limit, it is any number above.
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
