package loader

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestHitCost checks what is learned of the cost of a hit: how much a call costs without hits is not known, and
// differs from one while to the next.
func TestHitCost(t *testing.T) {
	const callTakes = 10 * time.Microsecond
	for _, c := range []struct {
		name         string
		times        float64
		calls        bool
		costPerCall  func(r *rand.Rand) time.Duration
		want, within float64
	}{
		{"as measured", 1, true, sliced, 1, 0.1},
		{"twice that", 2, true, sliced, 2, 0.2},
		{"half of that", 0.5, true, sliced, leastTimes, 0},
		{"ten times that", 10, true, sliced, mostTimes, 0},
		{"as many hits with each call", 2, true, func(*rand.Rand) time.Duration { return callTakes }, 1, 0.2},
		{"no calls", 2, false, sliced, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var h hitCost
			for range 100 {
				perCall := c.costPerCall(r)
				for range 10 {
					calls := uint64(500 + r.IntN(1000))
					cost := time.Duration(calls) * perCall
					used := float64(calls)*float64(callTakes)*(0.9+0.2*r.Float64()) + c.times*float64(cost)
					if !c.calls {
						calls = 0
					}
					h.add(calls, cost, time.Duration(used))
				}
				h.end()
			}
			if got := h.times(); math.Abs(got-c.want) > c.within {
				t.Errorf("%.2f, want %.2f", got, c.want)
			}
		})
	}
}

// sliced returns what the hits of a call cost, in a while with all probes or in one with few.
func sliced(r *rand.Rand) time.Duration {
	if r.IntN(4) == 0 {
		return 30 * time.Microsecond
	}
	return 2 * time.Microsecond
}

// TestRoomFor checks that hits have room up to the factor of what the program took without them, by what they cost in
// truth.
func TestRoomFor(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		cost, used    time.Duration
		factor, times float64
		want          time.Duration
	}{
		{20 * ms, 120 * ms, 2, 1, 100 * ms},
		{10 * ms, 120 * ms, 2, 2, 50 * ms}, // of 100 ms, at twice what they are taken to cost
		{10 * ms, 120 * ms, 5, 2, 200 * ms},
		{100 * ms, 120 * ms, 5, 2, 0},
	} {
		if got := roomFor(c.cost, c.used, c.factor, c.times); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
