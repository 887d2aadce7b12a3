package causality_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestSlice: the clocks of a slice order its events as those of all relevant events do, number the events of a slot, and
// count in each slot those that come before.
func TestSlice(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 5))
		events := eventtest.RandomRun(r, 10+r.IntN(60))
		share := 1 + r.IntN(4)
		c := causality.New()
		if r.IntN(2) == 0 {
			c = causality.NewExclusion()
		}
		type stamped struct {
			slot, own uint32
			all, in   causality.Clock
		}
		var sliced causality.Slice
		var of []stamped
		for i := range events {
			relevant := r.IntN(2) == 0
			slot, v := c.Stamp(&events[i], relevant)
			if !relevant || r.IntN(share) > 0 {
				continue
			}
			own, in := sliced.Add(slot, v)
			of = append(of, stamped{slot, own, slices.Clone(v), slices.Clone(in)})
		}
		for j, y := range of {
			want := make(causality.Clock, sliced.Slots())
			for i, x := range of {
				if i == j || x.all.At(x.slot) <= y.all.At(x.slot) {
					want[x.own]++
				}
				if before := x.in.At(x.own) <= y.in.At(x.own); before != (x.all.At(x.slot) <= y.all.At(x.slot)) {
					t.Fatalf("seed %d: events %d and %d of the slice: %v", seed, i, j, before)
				}
			}
			for slot, n := range want {
				if y.in.At(uint32(slot)) != n {
					t.Fatalf("seed %d: event %d of the slice has the clock %v, want %v", seed, j, y.in, want)
				}
			}
		}
	}
}
