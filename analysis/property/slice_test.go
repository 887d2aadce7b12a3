package property_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/property"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// firstOnly computes letters from the first variable alone, and secondOnly from the second.
type (
	firstOnly  struct{}
	secondOnly struct{}
)

func (firstOnly) Letter(values []uint64, _ uint64) lattice.Letter  { return values[0] }
func (secondOnly) Letter(values []uint64, _ uint64) lattice.Letter { return values[1] }

// onlyOf are properties that read one variable each, or declared events alone, and one that reads all.
func onlyOf(r *rand.Rand) []property.Property {
	small := func() (w word) {
		for range 1 + r.IntN(2) {
			w = append(w, r.Uint64N(4))
		}
		return w
	}
	return []property.Property{
		{Name: "x", Monitor: small(), Labels: firstOnly{}, Variables: []int{0}},
		{Name: "y", Monitor: small(), Labels: secondOnly{}, Variables: []int{1}},
		{Name: "post", Monitor: randomWord(r), Labels: sums{}, Events: 1},
		{Name: "all", Monitor: randomWord(r), Labels: sums{}, Variables: []int{0, 1}, Events: 1},
	}
}

// TestAsIfAlone: the findings of a property, what they show and how much of the runs was checked are those of the property
// alone, whatever other properties there are.
func TestAsIfAlone(t *testing.T) {
	found := map[string]int{}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 71))
		all := onlyOf(r)
		events := eventtest.RandomRun(r, 20+r.IntN(60))
		if seed%2 == 0 {
			events = eventtest.RandomSections(r, 20+r.IntN(20))
		}
		o := property.Options{Window: 30, Queue: 12, Order: orderOf(seed%4 < 2)}
		together, sum := checkAll(t, o, events, all...)
		var apart []finding.Finding
		var of lattice.Stats
		for _, p := range all {
			alone, stats := checkAll(t, o, events, p)
			apart = append(apart, alone...)
			of.Add(stats)
			found[p.Name] += len(alone)
		}
		if diff := cmp.Diff(byProperty(apart), byProperty(together)); diff != "" || sum != of {
			t.Fatalf("seed %d: %+v, want %+v; findings (-alone +together):\n%s", seed, sum, of, diff)
		}
	}
	for _, name := range []string{"x", "y", "post", "all"} {
		if found[name] == 0 {
			t.Errorf("%s was never violated: the test says little", name)
		}
	}
}

func byProperty(all []finding.Finding) map[string][]string {
	out := map[string][]string{}
	for _, f := range all {
		graph := drawn(f.Graph)
		f.Graph = nil // a pointer
		out[f.Property] = append(out[f.Property], fmt.Sprintf("%+v %s", f, graph))
	}
	return out
}

// checkAll checks properties on a run.
func checkAll(t *testing.T, o property.Options, events []event.Event, properties ...property.Property) ([]finding.Finding, lattice.Stats) {
	t.Helper()
	o.Properties, o.Variables, o.Initial = properties, []string{"x", "y"}, []uint64{0, 0}
	o.Variable = func(id event.ObjectID) int { return int(id) - int(eventtest.ObjectX) }
	o.Events = func(e *event.Event) uint64 {
		if e.Op == event.SemPost {
			return 1
		}
		return 0
	}
	a, err := property.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		e := events[i]
		a.Event(&e)
	}
	return a.Finish(), a.Stats()
}

// TestManyProperties: there is no limit on their number.
func TestManyProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 72))
	all := make([]property.Property, 200)
	for i := range all {
		all[i] = property.Property{Name: fmt.Sprint("p", i), Monitor: word{uint64(i)}, Labels: sums{}, Variables: []int{0, 1}, Events: 1}
	}
	found, _ := checkAll(t, property.Options{Window: 30, Queue: 12}, eventtest.RandomRun(r, 60), all...)
	if len(found) == 0 {
		t.Error("none of 200 properties is violated")
	}
}
