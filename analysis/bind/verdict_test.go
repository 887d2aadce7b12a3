package bind

import (
	"regexp"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestVerdicts: a property that is no safety property is true, false or unknown of the observed run, and a finding only where
// it is false.
func TestVerdicts(t *testing.T) {
	write := func(id event.ObjectID, v uint64) event.Event {
		return event.Event{Op: event.Write, Object: id, Value: v, Flags: event.HasValue}
	}
	of := func(t event.ThreadID, e event.Event) event.Event {
		e.Thread = t
		return e
	}
	for _, c := range []struct {
		property string
		events   []event.Event
		verdict  string
		found    int
	}{
		{"eventually a == 2", []event.Event{write(1, 1)}, "unknown", 0},
		{"eventually a == 2", []event.Event{write(1, 1), write(1, 2), write(1, 3)}, "true", 0},
		{"always eventually a == 2", []event.Event{write(1, 2)}, "unknown", 0},
		{"a == 0 until b == 1", []event.Event{write(2, 1), write(1, 1)}, "true", 0},
		{"a == 0 until b == 1", []event.Event{write(1, 1), write(2, 1)}, "false", 1},
		{"a == 0 && next eventually b == 1", []event.Event{write(1, 1)}, "unknown", 0},
		{"a == 1 && eventually b == 1", nil, "false", 1},
		{"b == 0 || eventually b == 1", nil, "true", 0},
		{"eventually a == 2", []event.Event{{Op: event.Write, Object: 1}}, "not known", 0},
		{"eventually (a == 2 && b == 0)", []event.Event{timed(of(2, write(1, 2))), timed(of(3, write(2, 1)))}, "true: it holds, whatever would follow; that is so in the order of the records", 0},
		{"eventually (a == 2 && b == 0)", []event.Event{timed(of(2, write(1, 2))), timed(of(2, write(2, 1)))}, "true: it holds, whatever would follow$", 0},
	} {
		s, problems := spec.Parse("test.tps", "var a : int = first\nvar b : int = second\nproperty p = "+c.property+"\n")
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		m, problems := s.Monitor(s.Properties[0], spec.MonitorOptions{Partial: true})
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		r, err := New(Options{Spec: s, Monitors: []*spec.Monitor{m}, Names: world{1: "first", 2: "second"}, Window: 8, Queue: 8})
		if err != nil {
			t.Fatal(err)
		}
		begins := []event.Event{{Op: event.Init, Object: 1, Flags: event.HasValue}, {Op: event.Init, Object: 2, Flags: event.HasValue}}
		for i, e := range append(begins, c.events...) {
			e.Seq, e.Thread, e.Kind = uint64(i+1), max(e.Thread, 1), event.KindVariable
			r.Event(&e)
		}
		var out part.Outcome
		NewPart(r, nil).Finish(&out)
		if len(out.Findings) != c.found || len(out.First) != 1 || !regexp.MustCompile(c.verdict).MatchString(out.First[0]) {
			t.Errorf("%s: %d findings, %q, want %s", c.property, len(out.Findings), out.First, c.verdict)
		}
	}
}
