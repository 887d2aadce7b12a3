package monitor

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
)

var _ Monitor = (*Automaton)(nil)

func TestAutomatonStepsToEveryEnabledState(t *testing.T) {
	a, err := NewAutomaton([]AutomatonState{
		{Name: "idle", Edges: []Edge{{ere.Cube{}, 0}, {ere.Cube{True: 1}, 1}}},
		{Name: "armed", Edges: []Edge{{ere.Cube{True: 2}, 2}}},
		{Name: "bad", Bad: true, Edges: []Edge{{ere.Cube{}, 0}}},
		{Name: "nowhere", Edges: []Edge{{ere.Cube{}, 0}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from State
		l    Letter
		want []State
	}{
		{0, 0, []State{0}}, {0, 1, []State{0, 1}}, {1, 1, nil}, {1, 2, []State{2}}, {2, 3, []State{2}},
	} {
		if got := a.Step(nil, c.from, c.l); !slices.Equal(got, c.want) {
			t.Errorf("%d reads %b: %v, want %v", c.from, c.l, got, c.want)
		}
	}
	if got := a.Unreachable(); !slices.Equal(got, []int{3}) {
		t.Errorf("unreachable: %v", got)
	}
	if !slices.Equal(a.Start(nil), []State{0}) || a.Bad(1) || !a.Bad(2) {
		t.Error("start or bad are wrong")
	}
}

func TestNewAutomatonRefuses(t *testing.T) {
	for name, states := range map[string][]AutomatonState{
		"nothing":          nil,
		"an edge outside":  {{Edges: []Edge{{To: 1}}}},
		"an edge below":    {{Edges: []Edge{{To: -1}}}},
		"too many of them": make([]AutomatonState, DefaultLimit+1),
	} {
		if _, err := NewAutomaton(states); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
