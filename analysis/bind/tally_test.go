package bind

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestObjectVerdicts: a property of each object that is no safety property is true, false or unknown of each, and a finding
// only where it is false.
func TestObjectVerdicts(t *testing.T) {
	const closed = "event use = call conn_use(c)\nevent close = call conn_close(c)\nproperty p (c : struct conn *) = "
	destroyed := event.Event{Thread: 1, Op: event.Destroy, Kind: event.KindField, Object: refs}
	unvalued := write(1, refs, 1)
	unvalued.Flags = 0
	use, shut := func(c uint64) event.Event { return called(1, 2, c) }, func(c uint64) event.Event { return called(1, 1, c) }
	for name, c := range map[string]struct {
		formula string
		events  []event.Event
		notes   []string
		found   int
	}{
		"true":               {"(use || !use) && eventually close", []event.Event{use(0x1000), shut(0x1000)}, []string{"p: true, whatever would follow, of 1 object (0x1000, first seen by T1)"}, 0},
		"unknown":            {"(use || !use) && eventually close", []event.Event{use(0x1000)}, []string{"p: unknown, as what would follow decides, of 1 object (0x1000"}, 0},
		"true and unknown":   {"(use || !use) && eventually close", []event.Event{use(0x1000), use(0x2000), shut(0x2000)}, []string{"true, whatever would follow, of 1 object (0x2000", "decides, of 1 object (0x1000"}, 0},
		"never true":         {"always (use -> eventually close)", []event.Event{use(0x1000), shut(0x1000)}, []string{"unknown, as what would follow decides, of 1 object"}, 0},
		"false and true":     {"!close until use", []event.Event{use(0x1000), shut(0x1000), shut(0x2000)}, []string{"true, whatever would follow, of 1 object (0x1000", "false, whatever would follow, of 1 object (0x2000"}, 1},
		"many":               {"(use || !use) && eventually close", []event.Event{use(1), use(2), use(3), use(4), use(5)}, []string{"of 5 objects (1, first seen by T1; 2, first seen by T1; 3, first seen by T1; 2 more)"}, 0},
		"fields":             {"eventually c.refs == 0", []event.Event{write(1, refs, 1), write(1, refs, 0), write(1, refs+next, 1)}, []string{"true, whatever would follow, of 1 object (0x1000", "decides, of 1 object (0x2000"}, 0},
		"an end":             {"eventually c.refs == 0", []event.Event{write(1, refs, 1), destroyed, use(0x9000)}, []string{"decides, of 1 object, of which 1 has ended (0x1000"}, 0},
		"no begin":           {"eventually (close && c.refs == 0)", []event.Event{use(0x1000)}, nil, 0},
		"a value is missing": {"eventually c.refs == 0", []event.Event{write(1, refs, 1), unvalued}, []string{"is not known, since not all events and values were recorded, of 1 object (0x1000"}, 0},
		"events are missing": {"(use || !use) && eventually close", []event.Event{use(0x1000), {Thread: 1, Op: event.Hole, Value: 3}}, []string{"is not known"}, 0},
		"it came before":     {"eventually (use && c.refs == 0)", []event.Event{use(0x1000), write(1, refs, 1)}, []string{"is not known"}, 0},
		"a call beside":      {"eventually (use && c.refs == 2)", []event.Event{timed(write(2, refs, 2)), timed(called(3, 2, 0x1000)), timed(write(2, refs, 3))}, []string{"true, whatever would follow, of 1 object", "of 1 object this is so in the order of the records"}, 0},
		"a call behind":      {"eventually (use && c.refs == 2)", []event.Event{timed(write(3, refs, 2)), timed(called(3, 2, 0x1000)), timed(write(3, refs, 3))}, []string{"true, whatever would follow, of 1 object"}, 0},
	} {
		s, problems := spec.Parse("test.tps", closed+c.formula+"\n")
		if problems.HasErrors() {
			t.Fatalf("%s: %v", name, problems)
		}
		m, problems := s.Monitor(s.Properties[0], spec.MonitorOptions{Partial: true})
		if problems.HasErrors() {
			t.Fatalf("%s: %v", name, problems)
		}
		r, err := New(Options{Spec: s, Monitors: []*spec.Monitor{m}, Names: conns{}, Window: 64, Queue: 64})
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range append(begun(), c.events...) {
			e.Seq = uint64(i + 1)
			r.Event(&e)
		}
		var out part.Outcome
		NewPart(r, nil).Finish(&out)
		ok := out.Err == nil && len(out.Findings) == c.found && len(out.First) == len(c.notes)
		for i := range c.notes {
			ok = ok && strings.Contains(out.First[i], c.notes[i])
		}
		if !ok {
			t.Errorf("%s: %d findings, %q, %v; want %d, %q", name, len(out.Findings), out.First, out.Err, c.found, c.notes)
		}
	}
}
