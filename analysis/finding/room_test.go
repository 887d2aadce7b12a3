package finding_test

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestFirstOfEach checks that the first of each key stays before the second of any.
func TestFirstOfEach(t *testing.T) {
	keys := []string{"a", "a", "b", "a", "c"}
	for room, want := range [][]bool{
		{false, false, false, false, false}, {true, false, false, false, false}, {true, false, true, false, false},
		{true, false, true, false, true}, {true, true, true, false, true}, {true, true, true, true, true}, {true, true, true, true, true},
	} {
		if got := finding.FirstOfEach(keys, room); !slices.Equal(got, want) {
			t.Errorf("room for %d: %v, want %v", room, got, want)
		}
	}
}

// TestWithinBytes checks that the least certain findings go first, then the later ones at the same call stacks, and that
// those which go are counted once.
func TestWithinBytes(t *testing.T) {
	race := func(c finding.Confidence, stack event.StackID) finding.Finding {
		return finding.Finding{Kind: finding.Race, Confidence: c, Evidence: []finding.Step{{Stack: stack}, {Stack: stack}}, Count: 2}
	}
	all := []finding.Finding{
		race(finding.Potential, 1), race(finding.Predicted, 2), race(finding.Observed, 3), race(finding.Observed, 3), race(finding.Predicted, 4),
	}
	one := all[0].Bytes()
	for _, c := range []struct {
		bytes   uint64
		stacks  []event.StackID
		counts  []int
		removed uint64
	}{
		{0, []event.StackID{3}, []int{4}, 3},
		{2 * one, []event.StackID{3, 3}, []int{2, 2}, 3},
		{4*one + one/2, []event.StackID{2, 3, 3, 4}, []int{2, 2, 2, 2}, 1},
		{5 * one, []event.StackID{1, 2, 3, 3, 4}, []int{2, 2, 2, 2, 2}, 0},
	} {
		kept, removed := finding.WithinBytes(slices.Clone(all), c.bytes)
		var stacks []event.StackID
		var counts []int
		for _, f := range kept {
			stacks, counts = append(stacks, f.Evidence[0].Stack), append(counts, f.Count)
		}
		if !slices.Equal(stacks, c.stacks) || !slices.Equal(counts, c.counts) || removed != c.removed {
			t.Errorf("%d bytes: %v, %v, %d removed, want %+v", c.bytes, stacks, counts, removed, c)
		}
	}
}

// TestBytes checks that a finding needs more memory with a schedule.
func TestBytes(t *testing.T) {
	f := finding.Finding{Evidence: make([]finding.Step, 2)}
	without := f.Bytes()
	f.Witness = make([]finding.Step, 1000)
	if with := f.Bytes(); with < without+100*1000 || without < finding.LeastBytes {
		t.Errorf("%d bytes with a schedule, %d without", with, without)
	}
}
