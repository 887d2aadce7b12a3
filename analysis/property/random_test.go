package property_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/property"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// word is a monitor that is bad once it has read its letters in order, perhaps with others
// between them.
type word []lattice.Letter

func (w word) Start(into []lattice.State) []lattice.State { return append(into, 0) }
func (w word) Bad(s lattice.State) bool                   { return int(s) == len(w) }
func (w word) Step(into []lattice.State, from lattice.State, l lattice.Letter) []lattice.State {
	if !w.Bad(from) && w[from] == l {
		from++
	}
	return append(into, from)
}

// sums computes letters from the values of both variables and the events.
type sums struct{}

func (sums) Letter(values []uint64, events uint64) lattice.Letter {
	return values[0]<<3 | values[1]<<1 | events&1
}

func randomWord(r *rand.Rand) (w word) {
	for range 1 + r.IntN(3) {
		w = append(w, r.Uint64N(32))
	}
	return w
}

// randomAnalysis returns the analysis of a random run, with posts of the semaphore as declared
// events.
func randomAnalysis(t *testing.T, r *rand.Rand, o property.Options) *property.Analysis {
	t.Helper()
	for range 4 {
		o.Properties = append(o.Properties, property.Property{
			Name: "p", Monitor: randomWord(r), Labels: sums{}, Variables: []int{0, 1}, Events: 1, Propositions: []string{"e", "y0", "y1", "x0", "x1"},
		})
	}
	o.Variables, o.Initial = []string{"x", "y"}, []uint64{0, 0}
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
	return a
}

// TestWitnessesAreExecutions: the checker of executions, which knows the rules of the
// order table and no clocks, accepts every run of the lattice.
func TestWitnessesAreExecutions(t *testing.T) {
	predicted, observed := 0, 0
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 17))
		a := randomAnalysis(t, r, property.Options{Window: 30, Queue: 12, Order: orderOf(seed%2 == 0)})
		events := eventtest.RandomRun(r, 30+r.IntN(120))
		for i := range events {
			a.Event(&events[i])
		}
		for _, f := range a.Finish() {
			switch f.Confidence {
			case finding.Predicted:
				predicted++
				checkFinding(t, &f)
			case finding.Observed:
				observed++
			default:
				t.Errorf("seed %d: %s", seed, f.Reason)
			}
		}
	}
	if predicted < 100 || observed < 100 {
		t.Errorf("%d predicted, %d observed: the test says little", predicted, observed)
	}
}

// refusing refuses every witness.
type refusing struct{}

func (refusing) CheckClaim([]finding.Step, execution.Claim) ([]uint64, error) {
	return nil, errors.New("refused for the test")
}

// TestNothingIsPredictedWithoutAWitness: if the checker refuses all witnesses, no property is
// predicted to be violated on another run, and each refusal is counted.
func TestNothingIsPredictedWithoutAWitness(t *testing.T) {
	refused := uint64(0)
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 17))
		a := randomAnalysis(t, r, property.Options{
			Window: 30, Queue: 12, Order: orderOf(seed%2 == 0), NewChecker: func([]event.Event) execution.Checker { return refusing{} },
		})
		events := eventtest.RandomRun(r, 30+r.IntN(120))
		for i := range events {
			a.Event(&events[i])
		}
		for _, f := range a.Finish() {
			if f.Confidence == finding.Predicted || f.Confidence == finding.Potential && !strings.Contains(f.Reason.Words, "refused for the test") {
				t.Errorf("seed %d: %s: %+v", seed, f.Confidence, f.Reason)
			}
		}
		if w := a.Witnesses(); w.Refused != w.Checked {
			t.Errorf("seed %d: %+v", seed, w)
		}
		refused += a.Witnesses().Refused
	}
	if refused < 20 {
		t.Errorf("%d witnesses: the test shows nothing", refused)
	}
}

func TestForgottenBeginnings(t *testing.T) {
	said := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 23))
		a := randomAnalysis(t, r, property.Options{Window: 30, Queue: 12, History: 20})
		events := eventtest.RandomRun(r, 300)
		for i := range events {
			a.Event(&events[i])
		}
		for _, f := range a.Finish() {
			if f.Confidence == finding.Potential && f.Reason.Given() {
				said++
			}
		}
	}
	if said == 0 {
		t.Error("no witness was beyond what was kept: the test says nothing")
	}
}

func TestWhatWasNotSeen(t *testing.T) {
	write := func(seq uint64, thread event.ThreadID, id event.ObjectID, value uint64, flags event.Flags) event.Event {
		return event.Event{Seq: seq, Thread: thread, Op: event.Write, Kind: event.KindVariable, Object: id, Value: value, Flags: flags}
	}
	// Good: x=1, y=1. Bad: y=1, x=1 (letter of y alone first).
	run := []event.Event{write(2, 1, 1, 1, event.HasValue), write(3, 2, 2, 1, event.HasValue)}
	for _, c := range []struct {
		name   string
		change func([]event.Event) []event.Event
		want   reason.Reason
	}{
		{"seen", func(e []event.Event) []event.Event { return e }, reason.Reason{}},
		{"no initial value", func(e []event.Event) []event.Event { return e[1:] }, reason.Reason{What: reason.InitialMissing, Words: "x"}},
		{"lost events", func(e []event.Event) []event.Event {
			return append([]event.Event{{Seq: 1, Thread: 1, Op: event.Hole, Value: 3}}, e...)
		}, reason.Reason{What: reason.RunLost}},
		{"a write without a value", func(e []event.Event) []event.Event {
			e[2].Flags = 0
			return e
		}, reason.Reason{What: reason.ValueMissing}},
	} {
		t.Run(c.name, func(t *testing.T) {
			initial := func(id event.ObjectID) event.Event {
				return event.Event{Seq: 1, Thread: 1, Op: event.Init, Kind: event.KindVariable, Object: id, Flags: event.HasValue | event.Inferred}
			}
			events := c.change(slices.Concat([]event.Event{initial(1), initial(2)}, run))
			a, err := property.New(property.Options{
				Properties: []property.Property{{Name: "order", Monitor: word{1 << 1}, Labels: sums{}, Variables: []int{0, 1}}},
				Variables:  []string{"x", "y"}, Variable: func(id event.ObjectID) int { return int(id) - 1 },
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range events {
				a.Event(&events[i])
			}
			fs := a.Finish()
			if len(fs) != 1 {
				t.Fatalf("%d findings", len(fs))
			}
			if got := fs[0]; !cmp.Equal(got.Reason, c.want) || (got.Confidence == finding.Predicted) == c.want.Given() {
				t.Errorf("%s: %+v", got.Confidence, got.Reason)
			}
		})
	}
}

// orderOf returns the order that runs keep whose critical sections may change places, or may not.
func orderOf(exclusion bool) finding.Order {
	if exclusion {
		return finding.OrderExclusion
	}
	return finding.OrderSync
}
