package plural

import (
	"fmt"
	"strings"
)

// Counted returns a number and what it counts, in the singular or the plural: "1 event", "1,204 events".
func Counted(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// Thousands returns n with a comma before each group of three digits.
func Thousands(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Enumerated returns "a", "a and b" or "a, b and c"; "" without words.
func Enumerated(words []string) string {
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " and " + words[last]
	}
	return strings.Join(words, "")
}
