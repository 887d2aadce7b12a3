package bind

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Objects 100 and up are fields of connections: refs of the one at 0x1000 is 100, state of it 101, refs of that at 0x2000 is
// 102, and so on. Function 1 is conn_close(c), function 2 conn_use(c).
type conns struct{}

func (conns) Object(id event.ObjectID) run.Object {
	form := &event.Form{Class: event.FormSigned, Bits: 32}
	if id < 100 {
		return run.Object{Name: map[event.ObjectID]string{1: "limit"}[id], Kind: event.KindVariable, Form: form}
	}
	name := []string{"refs of struct conn", "state of struct conn"}[(id-100)%2]
	return run.Object{Name: name, Kind: event.KindField, Addr: 0x1000 * uint64((id-100)/2+1), Form: form}
}

func (conns) Thread(event.ThreadID) run.Thread   { return run.Thread{} }
func (conns) Frames(event.StackID) []event.Frame { return nil }
func (conns) Func(id event.FuncID) event.Func {
	name := map[event.FuncID]string{1: "conn_close", 2: "conn_use"}[id]
	return event.Func{Name: name, Patterns: []event.Pattern{{Pattern: "call " + name + "(c)"}, {Pattern: "call " + name + "(fd)"}}, Params: []event.Param{{Name: "c"}}}
}

const (
	refs  = 100
	state = 101
	next  = 2 // from a field to that of the next connection
)

func write(t event.ThreadID, o event.ObjectID, v uint64) event.Event {
	kind := event.KindField
	if o < 100 {
		kind = event.KindVariable
	}
	return event.Event{Thread: t, Op: event.Write, Kind: kind, Object: o, Value: v, Flags: event.HasValue, Stack: event.StackID(10*uint64(t) + v)}
}

func called(t event.ThreadID, f event.FuncID, c uint64) event.Event {
	return event.Event{Thread: t, Op: event.Call, Func: f, Args: []uint64{c}, Stack: event.StackID(1000 + uint64(f))}
}

// begun returns the beginnings of threads 1, 2 and 3, of which 1 creates the others.
func begun() []event.Event {
	return []event.Event{
		{Thread: 1, Op: event.Begin},
		{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 2, Op: event.Begin, Peer: 1},
		{Thread: 1, Op: event.Fork, Peer: 3}, {Thread: 3, Op: event.Begin, Peer: 1},
	}
}

// timed returns an event of a live run, in which an access and its record are two moments.
func timed(e event.Event) event.Event { return timedAt(0, e) }

// timedAt is timed for an event some milliseconds later.
func timedAt(ms uint64, e event.Event) event.Event {
	e.Time = 1000 + ms*1_000_000
	return e
}

// ofConns runs a specification over events.
func ofConns(t *testing.T, text string, events ...event.Event) (*Run, []finding.Finding) {
	t.Helper()
	s, problems := spec.Parse("test.tps", text)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	var monitors []*spec.Monitor
	for _, p := range s.Properties {
		m, problems := s.Monitor(p, spec.MonitorOptions{})
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		monitors = append(monitors, m)
	}
	r, err := New(Options{Spec: s, Monitors: monitors, Names: conns{}, Window: 64, Queue: 64})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		e := events[i]
		e.Seq = uint64(i + 1)
		r.Event(&e)
	}
	found := r.Finish()
	if r.ofObjects != nil {
		found = append(found, r.ofObjects.Finish()...)
	}
	if err := r.unfit(); err != nil {
		t.Fatal(err)
	}
	return r, found
}

const alive = "property alive (c : struct conn *) \"a connection without references is used\" = always (use -> c.refs > 0)\nevent use = call conn_use(c)\n"

// TestObjectProperties checks verdicts of a property of each object.
func TestObjectProperties(t *testing.T) {
	destroyed := event.Event{Thread: 1, Op: event.Destroy, Kind: event.KindField, Object: refs}
	unvalued := write(1, refs, 1)
	unvalued.Flags = 0
	hole := event.Event{Thread: 1, Op: event.Hole, Value: 3}
	for _, c := range []struct {
		name, text string
		events     []event.Event
		want       []finding.Confidence
		why        reason.What
	}{
		{"good", alive, []event.Event{write(1, refs, 1), called(1, 2, 0x1000), write(1, refs, 0)}, nil, ""},
		{"this run", alive, []event.Event{write(1, refs, 1), write(1, refs, 0), called(1, 2, 0x1000)}, []finding.Confidence{finding.Observed}, ""},
		{"another connection", alive, []event.Event{write(1, refs, 1), write(1, refs+next, 1), write(1, refs, 0), called(1, 2, 0x2000)}, nil, ""},
		{"a use that comes first only by speed", alive, []event.Event{write(1, refs, 1), called(3, 2, 0x1000), write(2, refs, 0)}, []finding.Confidence{finding.Predicted}, ""},
		{"a use that comes last only by speed", alive, []event.Event{timed(write(1, refs, 1)), timed(write(2, refs, 0)), timed(called(3, 2, 0x1000))}, []finding.Confidence{finding.Likely}, reason.OrderOpen},
		{"a use that comes last by far", alive, []event.Event{timed(write(1, refs, 1)), timedAt(201, write(2, refs, 0)), timedAt(302, called(3, 2, 0x1000))}, []finding.Confidence{finding.Observed}, ""},
		{"a use that comes last, but not by far", alive, []event.Event{timed(write(1, refs, 1)), timedAt(201, write(2, refs, 0)), timedAt(301, called(3, 2, 0x1000))}, []finding.Confidence{finding.Likely}, reason.OrderOpen},
		{"two accesses that are not far apart", alive, []event.Event{timed(write(1, refs, 1)), timedAt(200, write(2, refs, 0)), timedAt(302, called(3, 2, 0x1000))}, []finding.Confidence{finding.Likely}, reason.OrderOpen},
		{"a use that comes last by its thread", alive, []event.Event{timed(write(1, refs, 1)), timed(write(1, refs, 0)), timed(called(1, 2, 0x1000))}, []finding.Confidence{finding.Observed}, ""},
		{"two threads, two connections", alive, []event.Event{write(1, refs, 1), write(1, refs+next, 1), called(3, 2, 0x2000), write(2, refs, 0)}, nil, ""},
		{"a field that was never accessed", alive, []event.Event{called(1, 2, 0x1000)}, nil, ""},
		{"a use before the first access", alive, []event.Event{called(1, 2, 0x1000), write(1, refs, 0), called(1, 2, 0x1000)}, []finding.Confidence{finding.Likely}, reason.InitialMissing},
		{"a first write without a value", alive, []event.Event{unvalued, write(1, refs, 0), called(1, 2, 0x1000)}, []finding.Confidence{finding.Likely}, reason.InitialMissing},
		{"a later write without a value", alive, []event.Event{write(1, refs, 0), unvalued, write(1, refs, 0), called(1, 2, 0x1000)}, []finding.Confidence{finding.Likely}, reason.ValueMissing},
		{"lost events", alive, []event.Event{write(1, refs, 1), hole, called(3, 2, 0x1000), write(2, refs, 0)}, []finding.Confidence{finding.Likely}, reason.RunLost},
		{"memory that is used again", alive, []event.Event{write(1, refs, 1), write(1, refs, 0), destroyed, write(1, refs+1000*next, 5), write(1, refs, 1), called(1, 2, 0x1000)}, nil, ""},
		{
			"a property of events alone", "property once_only (c : struct conn) = always (close -> Z historically !close)\nevent close = call conn_close(c)\n",
			[]event.Event{called(2, 1, 0x1000), called(3, 1, 0x2000)}, nil, "",
		},
		{
			"an event that happens twice", "property once_only (c : struct conn) = always (close -> Z historically !close)\nevent close = call conn_close(c)\n",
			[]event.Event{called(2, 1, 0x1000), called(3, 1, 0x1000)}, []finding.Confidence{finding.Observed}, "",
		},
		{
			"an expression over events", "property closed (fd : int) = ere bad { }* { close } { }* { use } { }*\nevent close = call conn_close(fd)\nevent use = call conn_use(fd)\n",
			[]event.Event{called(2, 2, 7), called(3, 1, 7)}, []finding.Confidence{finding.Predicted}, "",
		},
		{
			"a variable of the program", "var limit : int = limit\nproperty few (c : struct conn) = always (c.refs <= limit)\n",
			[]event.Event{write(1, 1, 3), write(1, refs, 2), write(1, refs+next, 1), write(2, 1, 1)}, []finding.Confidence{finding.Observed}, "",
		},
		{
			"the first state of an object", "property some (c : struct conn) = always (c.refs > 0)\n",
			[]event.Event{write(1, refs, 0)}, []finding.Confidence{finding.Observed}, "",
		},
		{
			"two fields", "property p (c : struct conn) = always (c.refs == 0 -> c.state != 1)\n",
			[]event.Event{write(1, refs, 0), write(1, state, 0), write(1, refs, 1), write(2, state, 1), write(3, refs, 0)}, []finding.Confidence{finding.Observed}, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := append(begun(), c.events...)
			_, found := ofConns(t, c.text, events...)
			var got []finding.Confidence
			for _, f := range found {
				got = append(got, f.Confidence)
				if f.Reason.What != c.why {
					t.Errorf("reason %q", f.Reason.What)
				}
				checkObject(t, &f, events)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%v, want %v: %+v", got, c.want, found)
			}
		})
	}
}

// checkObject checks that a finding names its object and has no event of another one.
func checkObject(t *testing.T, f *finding.Finding, events []event.Event) {
	t.Helper()
	if f.Kind != finding.Property || f.Subject == nil || len(f.Evidence) == 0 {
		t.Errorf("%+v", f)
	}
	of := f.Subject.Value
	for _, s := range f.Evidence {
		e := events[s.Seq-1]
		switch {
		case e.Op.IsCall() && e.Args[0] != of, e.Kind == event.KindField && (conns{}).Object(e.Object).Addr != of:
			t.Errorf("an event of another object: %+v", e)
		}
	}
}

// TestOneFindingAPlace checks that a property that many objects violate at one place is one finding, with their number.
func TestOneFindingAPlace(t *testing.T) {
	events := begun()
	for i := range event.ObjectID(50) {
		events = append(events, write(1, refs+next*i, 1), called(3, 2, 0x1000*uint64(i+1)), write(2, refs+next*i, 0))
	}
	_, found := ofConns(t, alive, events...)
	if len(found) != 1 || found[0].Count != 50 {
		t.Errorf("%d findings, %+v", len(found), found)
	}
}

// TestOrderedObjectsAreCheap checks that 10,000 objects whose events are ordered have no lattice.
func TestOrderedObjectsAreCheap(t *testing.T) {
	events := begun()
	for i := range event.ObjectID(10_000) {
		events = append(events, write(1, refs+next*i, 1), called(1, 2, 0x1000*uint64(i+1)))
	}
	r, found := ofConns(t, alive, events...)
	if s := r.ofObjects.Stats(); len(found) > 0 || s.Objects != 10_000 || s.Begun != s.Objects || s.Lattice.Cuts > 0 {
		t.Errorf("%d findings, %+v", len(found), s)
	}
}

// TestManyProperties checks that there is no bound on the number of properties.
func TestManyProperties(t *testing.T) {
	var b strings.Builder
	b.WriteString("var limit : int = limit\nevent use = call conn_use(c)\n")
	for i := range 100 {
		fmt.Fprintf(&b, "property p%d (c : struct conn) = always (use -> c.refs != %d)\nproperty q%d = always (limit != %d)\n", i, i, i, i+1)
	}
	_, found := ofConns(t, b.String(), append(begun(), write(1, refs, 70), write(1, 1, 90), called(1, 2, 0x1000))...)
	var names []string
	for _, f := range found {
		names = append(names, f.Property)
	}
	if fmt.Sprint(names) != "[q89 p70]" {
		t.Errorf("%q", names)
	}
}
