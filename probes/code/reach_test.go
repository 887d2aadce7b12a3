package code

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// TestReachProperty compares Reach with the closure of a random relation, computed by iterating
// over all pairs until nothing changes. It also checks that Reach ends when next returns false.
func TestReachProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const nodes = 12
		next := map[int][]int{}
		for range rapid.IntRange(0, 30).Draw(t, "edges") {
			from := rapid.IntRange(0, nodes-1).Draw(t, "from")
			next[from] = append(next[from], rapid.IntRange(0, nodes-1).Draw(t, "to"))
		}
		first := rapid.SliceOfN(rapid.IntRange(0, nodes-1), 0, 3).Draw(t, "first")
		want := map[int]bool{}
		for _, n := range first {
			want[n] = true
		}
		for range nodes {
			for from := range maps.Clone(want) {
				for _, to := range next[from] {
					want[to] = true
				}
			}
		}
		visits := map[int]int{}
		seen, ok := Reach(first, func(n int) ([]int, bool) {
			visits[n]++
			return next[n], true
		})
		if !ok || !maps.Equal(seen, want) || len(visits) != len(want) {
			t.Fatalf("%v, want %v; visited %v", seen, want, visits)
		}
		for n, times := range visits {
			if times != 1 {
				t.Fatalf("%d visited %d times", n, times)
			}
		}
		for last := range want {
			if seen, ok := Reach(first, func(n int) ([]int, bool) { return next[n], n != last }); ok || !seen[last] {
				t.Fatalf("it does not end at %d", last)
			}
		}
	})
}
