package property_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/property"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// TestBadBeforeAnyEvent checks that the first state is evidence of its own: of a property that it violates there is one
// finding, without events, that has the initial values.
func TestBadBeforeAnyEvent(t *testing.T) {
	for _, name := range []string{"violation_in_initial_state", "cone_initial_violation"} {
		xs, err := eventtest.ReadExecutions("../../observer/lattice/testdata/jmpax/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		x := &xs[0]
		p := wanted(t, "nonneg", x.Property["nonneg"], x.Names)
		p.Message = "x is below zero"
		_, fs := analyse(t, x, *p)
		if len(fs) != 1 {
			t.Fatalf("%s: %d findings", name, len(fs))
		}
		f := fs[0]
		if f.Confidence != finding.Observed || !f.AtStart || len(f.Evidence)+len(f.Witness)+len(f.Threads) > 0 || f.Count != 1 {
			t.Errorf("%s: %+v", name, f)
		}
		if want := "the state before any event violates nonneg: x is below zero"; f.Message != want {
			t.Errorf("%s: %q", name, f.Message)
		}
		minusOne := ^uint64(0)
		wantValues := []finding.Initial{{Name: "x", Object: x.Objects[0], Value: minusOne, Known: true}, {Name: "y", Value: 0, Known: true}}
		if diff := cmp.Diff(wantValues, f.Initial); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff([]finding.Truth{{Name: "ok", Holds: false}}, f.InitialTruth); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// isFive has the letter 1 where x is 5.
type isFive struct{}

func (isFive) Letter(values []uint64, _ uint64) lattice.Letter {
	if values[0] == 5 {
		return 1
	}
	return 0
}

// TestBadBeforeAnyEventByDefault checks the confidence where an initial value was recorded, where it was not, and where the
// run is not whole: what comes later cannot make the first state good.
func TestBadBeforeAnyEventByDefault(t *testing.T) {
	value := func(op event.Op, v uint64) event.Event {
		return event.Event{Thread: 1, Op: op, Kind: event.KindVariable, Object: 1, Value: v, Flags: event.HasValue}
	}
	hole := event.Event{Thread: 1, Op: event.Hole, Value: 3}
	unvalued := value(event.Write, 0)
	unvalued.Flags = 0
	missing := reason.Reason{What: reason.InitialMissing, Words: "x"}
	for _, c := range []struct {
		name   string
		events []event.Event
		found  int
		want   finding.Confidence
		why    reason.Reason
	}{
		{"recorded", []event.Event{value(event.Init, 1), value(event.Write, 5)}, 1, finding.Observed, reason.Reason{}},
		{"recorded, and no event", []event.Event{value(event.Init, 1)}, 1, finding.Observed, reason.Reason{}},
		{"recorded, then lost events and a write without a value", []event.Event{value(event.Init, 1), hole, unvalued}, 1, finding.Observed, reason.Reason{}},
		{"not recorded", []event.Event{value(event.Write, 5)}, 1, finding.Likely, missing},
		{"nothing recorded", nil, 1, finding.Likely, missing},
		{"good", []event.Event{value(event.Init, 5), value(event.Write, 5)}, 0, "", reason.Reason{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := property.New(property.Options{
				Properties: []property.Property{{Name: "five", Monitor: word{0}, Labels: isFive{}, Variables: []int{0}, Propositions: []string{"x == 5"}}},
				Variables:  []string{"x"}, Variable: func(event.ObjectID) int { return 0 },
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.events {
				e := c.events[i]
				e.Seq = uint64(i + 1)
				a.Event(&e)
			}
			fs := a.Finish()
			if len(fs) != c.found {
				t.Fatalf("%d findings", len(fs))
			}
			if c.found > 0 && (fs[0].Confidence != c.want || !cmp.Equal(fs[0].Reason, c.why) || !fs[0].AtStart) {
				t.Errorf("%s, %+v", fs[0].Confidence, fs[0].Reason)
			}
		})
	}
}
