package spelling

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"hits", "", 4},
		{"", "hits", 4},
		{"hits", "hits", 0},
		{"hits", "hist", 2},
		{"kitten", "sitting", 3},
		{"push_front", "push_back", 5},
		{strings.Repeat("a", 300), strings.Repeat("a", 400), 0},
	} {
		if got := Distance(c.a, c.b, 1000); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// naiveDistance is the definition of the edit distance.
func naiveDistance(a, b string) int {
	switch {
	case a == "":
		return len(b)
	case b == "":
		return len(a)
	case a[0] == b[0]:
		return naiveDistance(a[1:], b[1:])
	}
	return 1 + min(naiveDistance(a[1:], b), naiveDistance(a, b[1:]), naiveDistance(a[1:], b[1:]))
}

func TestDistanceProperty(t *testing.T) {
	word := rapid.StringMatching(`[ab_]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		limit := rapid.IntRange(0, 8).Draw(t, "limit")
		got, want := Distance(a, b, limit), naiveDistance(a, b)
		if got != want && (want <= limit || got <= limit) {
			t.Fatalf("%q %q: got %d, want %d", a, b, got, want)
		}
	})
}

func TestNearest(t *testing.T) {
	names := []string{"total", "hit", "bits", "hits_max", "bits", "hit"}
	got := Nearest(slices.Values(names), 3, func(name string) int {
		if d := Distance("hits", name, 4); d <= 4 {
			return d
		}
		return -1
	})
	if want := []string{"bits", "hit", "hits_max"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
