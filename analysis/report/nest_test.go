package report

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// nested returns the deadlocks of two threads that nest n locks in opposite orders, one for each two neighbours.
func nested(n int) []finding.Finding {
	var all []finding.Finding
	for i := range n - 1 {
		side := func(thread event.ThreadID, first, step, holds int) finding.Step {
			s := finding.Step{Seq: uint64(100*int(thread) + holds), Thread: thread, Op: event.Acquire}
			for j := range holds {
				id := first + j*step
				s.Held, s.HeldAt = append(s.Held, event.ObjectID(id)), append(s.HeldAt, event.StackID(id))
			}
			id := first + holds*step
			s.Object, s.Stack, s.Blocked = event.ObjectID(id), event.StackID(id), true
			return s
		}
		up, down := side(1, 1, 1, i+1), side(2, n, -1, n-1-i)
		all = append(all, finding.Finding{
			Kind: finding.Deadlock, Confidence: finding.Predicted, Evidence: []finding.Step{up, down}, Witness: []finding.Step{up, down},
			Objects: []event.ObjectID{up.Object, down.Object}, Threads: []event.ThreadID{1, 2},
		})
	}
	return all
}

// TestNestedLocks checks that the deadlocks between two nestings are one finding with its pairs of locks, and that
// those of other sections are others.
func TestNestedLocks(t *testing.T) {
	tab := &table{stacks: map[event.StackID][]event.Frame{}}
	for id := range event.StackID(8) {
		tab.stacks[id] = []event.Frame{{Function: "nest" + string('a'+rune(id)), File: "nest.c", Line: 10 + int(id)}}
	}
	got := text(t, Build(shopRun(), nested(4), tab), TextOptions{})
	for _, want := range []string{"tracepredict: 1 deadlock predicted in ", "1. DEADLOCK predicted, and 2 other pairs of locks", "also: 'object #4' and 'object #3'; "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	apart := nested(4)
	for i := range apart {
		apart[i].Evidence[0].HeldAt[0] = event.StackID(5 + i) // sections that begin elsewhere
	}
	if got := text(t, Build(shopRun(), apart, tab), TextOptions{}); !strings.Contains(got, "tracepredict: 3 deadlocks predicted in ") {
		t.Errorf("sections apart are joined:\n%s", got)
	}
}

// TestSchedulesShareLocks checks that steps which hold the same locks share them: n deadlocks of n locks need memory
// for n² of them, not n³.
func TestSchedulesShareLocks(t *testing.T) {
	b := newBuilder(&table{})
	in := nested(5)
	first, second := b.schedule(in[3].Witness), b.schedule(in[3].Witness)
	if &first[0].Held[0] != &second[0].Held[0] {
		t.Error("equal locks are two slices")
	}
	if other := b.schedule(in[2].Witness); len(other[0].Held) != 3 || &other[0].Held[0] == &first[0].Held[0] {
		t.Errorf("other locks: %v", other[0].Held)
	}
	if own := b.steps(in[3].Evidence); &own[0].Held[0] == &first[0].Held[0] {
		t.Error("the sides share with a schedule, and show more frames")
	}
}
