package loader

import "testing"

// TestBusy: a variable is too busy because of a burst, or of a rate that lasts, but never
// because of the total of its hits.
func TestBusy(t *testing.T) {
	const second = uint64(1_000_000_000)
	for _, c := range []struct {
		name string
		rate uint64 // hits per second
		hits int
		want int // the hit that is one too many; 0: none
	}{
		{"slow for long", busyRate, 100 * busyBurst, 0},
		{"a burst", 1e9, 2 * busyBurst, busyBurst + 1},
		{"fast", 2 * busyRate, 4 * busyBurst, 2*busyBurst + 1},
	} {
		b := &hitCounter{}
		got := 0
		for i := 1; i <= c.hits; i++ {
			if b.hit(10*second + uint64(i)*(second/c.rate)) {
				if got != 0 {
					t.Errorf("%s: reported twice", c.name)
				}
				got = i
			}
		}
		if got < c.want*99/100 || got > c.want*101/100+1 && c.want != 0 || c.want == 0 && got != 0 {
			t.Errorf("%s: too busy at hit %d, want %d", c.name, got, c.want)
		}
	}
}
