package lattice_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/observer/lattice"
)

// TestFastPathsAgree: the code for lanes of 8 bits and for sets that are masks builds the same
// levels and reports the same violations as the general code.
func TestFastPathsAgree(t *testing.T) {
	violated, wide := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 31))
		slots, n := 2+r.IntN(7), 10+r.IntN(150)
		events := randomEvents(r, slots, 3, n)
		o := lattice.Options{Width: 1 + r.IntN(20), Queue: r.IntN(20), Initial: make([]uint64, 3)}
		for range 1 + r.IntN(2) {
			p := randomProperty(r, 3)
			if c, ok := p.Monitor.(counted); ok {
				p.Monitor = c.Monitor
			}
			o.Properties = append(o.Properties, p)
		}
		want, violations := described(o, events, 16)
		for i := range o.Properties {
			p := &o.Properties[i]
			p.Monitor = counted{p.Monitor, len(p.Monitor.(*arbitrary).next) + 1}
		}
		got, _ := described(o, events, 8)
		if !slices.Equal(got, want) {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			t.Fatalf("seed %d: line %d of %d and %d\n%s\n%s", seed, at, len(got), len(want), got[at:min(at+1, len(got))], want[at:min(at+1, len(want))])
		}
		violated += violations
		if slots == 8 {
			wide++
		}
	}
	if violated < 100 || wide < 20 {
		t.Errorf("%d violations, %d runs of 8 slots: the test says little", violated, wide)
	}
}

// described builds a lattice with lanes of a number of bits, and returns its levels and violations
// as text.
func described(o lattice.Options, events []lattice.Event, bits uint) (lines []string, violations int) {
	o.Violation = func(v *lattice.Violation) {
		e, _ := v.Event()
		lines = append(lines, fmt.Sprint("violation ", v.Property, v.Observed, v.Level(), e.Seq))
		violations++
	}
	l := lattice.New(o)
	l.Pack(bits)
	l.OnLevel(func(cuts [][]uint32, values [][]uint64, bad [][]bool) {
		lines = append(lines, fmt.Sprint(cuts, values, bad))
	})
	for i := range events {
		l.Event(&events[i])
	}
	l.Finish()
	return append(lines, fmt.Sprintf("%+v", l.Stats())), violations
}
