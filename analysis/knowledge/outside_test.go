package knowledge

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestOutside: a verdict is about the last event of its thread, and others at that call stack are the same finding.
func TestOutside(t *testing.T) {
	found := 0
	m := New(Options{Formula: &Formula{Name: "f"}, Outside: true, Found: func(*finding.Finding) { found++ }})
	for i, e := range []event.Event{
		{Thread: 2, Op: event.Acquire, Stack: 7},
		{Thread: 3, Op: event.Call, Stack: 8},
		{Thread: 2, Op: event.Violated, Peer: 3},
		{Thread: 2, Op: event.Violated},
		{Thread: 3, Op: event.Violated},
	} {
		e.Seq = uint64(i + 1)
		m.Event(&e, State{Variable: -1})
	}
	got := m.Finish()
	if len(got) != 2 || found != 2 {
		t.Fatalf("%d findings, of which %d were said at once: %+v", len(got), found, got)
	}
	if f := got[0]; f.Count != 2 || f.Evidence[0].Seq != 1 || f.Evidence[0].Thread != 2 || f.Message != "this run violates f (the other thread is T3)" {
		t.Errorf("%+v", f)
	}
	if f := got[1]; f.Count != 1 || f.Evidence[0].Seq != 2 || f.Message != "this run violates f" {
		t.Errorf("%+v", f)
	}
}
