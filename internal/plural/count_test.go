package plural

import (
	"strings"
	"testing"
)

func TestCounted(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 locks", 1: "1 lock", 2: "2 locks", 999: "999 locks", 1000: "1,000 locks", 1234567: "1,234,567 locks", 1<<64 - 1: "18,446,744,073,709,551,615 locks"} {
		if got := Counted(n, "lock", "locks"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestEnumerated(t *testing.T) {
	for words, want := range map[string]string{"": "", "a": "a", "a b": "a and b", "a b c": "a, b and c"} {
		if got := Enumerated(strings.Fields(words)); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}
