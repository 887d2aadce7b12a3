package reason

import (
	"maps"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestRefutes: only what a search of schedules has found says that there is none.
func TestRefutes(t *testing.T) {
	for what, want := range map[What]bool{
		Inclusion: true, NoReordering: true, Exhausted: true, Ordered: true, Unreleased: true,
		"": false, Evicted: false, NotSearched: false, NotWhole: false, OnlyTrylocks: false,
	} {
		if got := (Reason{What: what}).Refutes(); got != want {
			t.Errorf("%q: %v", what, got)
		}
	}
	if r := (Reason{What: NotShown, Of: &Reason{What: Inclusion}}); r.Refutes() {
		t.Errorf("%s refutes", r)
	}
}

// TestRemember: the names of all that a sentence may name are kept, also of the reason for a reason.
func TestRemember(t *testing.T) {
	n := event.NewNames()
	r := Reason{What: NotWhole, Of: &Reason{Thread: 1, Other: 2, Threads: []event.ThreadID{3}, Object: 4, Stack: 5}}
	r.Remember(n)
	threads := slices.Sorted(maps.Keys(n.Threads()))
	_, object := n.Objects()[4]
	_, stack := n.Stacks()[5]
	if !slices.Equal(threads, []event.ThreadID{1, 2, 3}) || !object || !stack {
		t.Errorf("threads %v, object: %v, call stack: %v", threads, object, stack)
	}
}
