package lattice_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tracepredict/tracepredict/observer/lattice"
)

// observations holds all that a lattice reports about a run.
type observations struct {
	stats      lattice.Stats
	cuts       [][][]uint32
	values     [][][]uint64
	bad        [][][]bool
	violations [][3]uint64
}

// observe returns what a lattice without a window, built on a number of cores, reports.
func observe(events []lattice.Event, props []lattice.Property, variables, cores int) observations {
	var all observations
	o := lattice.Options{Properties: props, Initial: make([]uint64, variables), Violation: func(v *lattice.Violation) {
		e, _ := v.Event()
		all.violations = append(all.violations, [3]uint64{uint64(v.Property), e.Seq, uint64(v.Level())})
	}}
	l := lattice.New(o)
	l.Share(cores, 2)
	l.OnLevel(func(cuts [][]uint32, values [][]uint64, bad [][]bool) {
		all.cuts, all.values, all.bad = append(all.cuts, cuts), append(all.values, values), append(all.bad, bad)
	})
	for i := range events {
		l.Event(&events[i])
	}
	l.Finish()
	all.stats = l.Stats()
	return all
}

// TestCoresAgree builds the same levels on one core and on several, with keys of one word
// and of more.
func TestCoresAgree(t *testing.T) {
	violated := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 5))
		events, variables := randomEvents(r, 2+r.IntN(5), 3, 4+r.IntN(14)), 3
		switch seed % 3 {
		case 1:
			events = independent(10, 1)[:5+r.IntN(6)]
			variables = 10
		case 2:
			events, variables = lockedEvents(r, 4, 10), 2
		}
		props := []lattice.Property{randomProperty(r, variables), randomProperty(r, variables)}
		one := observe(events, props, variables, 1)
		violated += len(one.violations)
		for _, cores := range []int{2, 5} {
			if got := observe(events, props, variables, cores); !reflect.DeepEqual(got, one) {
				t.Fatalf("seed %d, %d cores: %+v, want %+v", seed, cores, got, one)
			}
		}
	}
	if violated < 100 {
		t.Errorf("%d violations: the test says little", violated)
	}
}
