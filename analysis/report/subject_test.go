package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// callNames names one instance and the places of two calls.
type callNames struct{ run.Namer }

func (callNames) Object(event.ObjectID) run.Object {
	return run.Object{Addr: 0x7f00, Kind: event.KindInstance, First: 2}
}
func (callNames) Thread(event.ThreadID) run.Thread { return run.Thread{} }
func (callNames) Frames(id event.StackID) []event.Frame {
	return []event.Frame{src("f", "/src/q.c", int(id))}
}

// TestSubject: the object of a protocol is the value that the calls have in common, a pointer or a small number, and not
// what their first pointers point to.
func TestSubject(t *testing.T) {
	for _, c := range []struct {
		value     uint64
		made      bool
		name, was string
	}{
		{7, true, "file 7", "file 7 was created in f at q.c:9 by T1"},
		{0x55d0, true, "file 0x55d0", "file 0x55d0 was created in f at q.c:9 by T1"},
		{0x55d0, false, "file 0x55d0", "file 0x55d0 was first seen in f at q.c:9 by T1"},
	} {
		f := finding.Finding{
			Kind: finding.Typestate, Property: "file", Message: "this run breaks file", Subject: &finding.Subject{Value: c.value, First: finding.Step{Thread: 1, Stack: 9}, Made: c.made},
			Evidence: []finding.Step{{Seq: 1, Thread: 2, Op: event.Call, Object: 5, Stack: 2, Use: "read"}},
			Witness:  []finding.Step{{Seq: 1, Thread: 2, Op: event.Call, Object: 5, Stack: 2, Use: "read"}, {Seq: 3, Thread: 2, Op: event.Call, Object: 5, Stack: 3}},
		}
		f.AddSides()
		rep := Build(Run{}, []finding.Finding{f}, callNames{})
		got := &rep.Findings[0]
		var steps []string
		for i := range got.Witness {
			steps = append(steps, StepText(got.Witness[i], 80))
		}
		if d := cmp.Diff([]string{"read " + c.name, "call 0x7f00"}, steps); d != "" {
			t.Errorf("schedule of %d: %s", c.value, d)
		}
		if d := cmp.Diff([]string{c.was}, rep.Names().Origins(got)); d != "" {
			t.Errorf("%d: %s", c.value, d)
		}
		if len(got.Objects) != 1 || got.Objects[0].Name != c.name {
			t.Errorf("objects of %d: %v", c.value, got.Objects)
		}
	}
}
