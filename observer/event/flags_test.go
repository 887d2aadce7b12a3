package event

import "testing"

// TestBothAtomic checks each pair of an access that is not atomic, one that may be, and one that is.
func TestBothAtomic(t *testing.T) {
	kinds := []Flags{HasValue, PerhapsAtomic, Atomic}
	both := [3][3]bool{{false, false, false}, {false, false, true}, {false, true, true}}
	for i, a := range kinds {
		for j, b := range kinds {
			if got := BothAtomic(a, b|Polled); got != both[i][j] {
				t.Errorf("of %#x and %#x: %v", a, b, got)
			}
		}
	}
}

// TestRacesAsMuch checks that an access races as much as another one if that holds of each third access.
func TestRacesAsMuch(t *testing.T) {
	kinds := []Flags{0, PerhapsAtomic, Atomic, Atomic | PerhapsAtomic}
	for _, a := range kinds {
		for _, b := range kinds {
			want := true
			for _, c := range kinds {
				want = want && (BothAtomic(b, c) || !BothAtomic(a, c))
			}
			if got := RacesAsMuch(a, b); got != want {
				t.Errorf("%#x as %#x: %v", a, b, got)
			}
			if RacesAsMuch(a|Wider, b) || RacesAsMuch(a, b|Wider) != want || RacesAsMuch(a|Wider, b|Wider) != want {
				t.Errorf("%#x as %#x: a load that the source may not make races as one that it makes", a, b)
			}
		}
	}
}
