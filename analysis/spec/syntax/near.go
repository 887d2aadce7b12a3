package syntax

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/spelling"
)

// Nearest returns the name among others that is most similar to name: one that differs only in
// case, or in few letters for its length. It returns "" if there is none.
func Nearest(name string, among []string) string {
	best, least := "", 0
	among = slices.Clone(among)
	slices.Sort(among)
	for _, a := range among {
		limit := max(len(name), len(a)) / 3
		if strings.HasPrefix(name, a) {
			limit = max(limit, 3)
		} else if sortedLetters(name) == sortedLetters(a) {
			limit = max(limit, 2) // Two letters were swapped.
		}
		d := spelling.Distance(strings.ToLower(name), strings.ToLower(a), limit)
		if d > limit || a == name {
			continue
		}
		if best == "" || d < least {
			best, least = a, d
		}
	}
	return best
}

// sortedLetters returns the letters of a name in alphabetical order.
func sortedLetters(name string) string {
	b := []byte(name)
	slices.Sort(b)
	return string(b)
}
