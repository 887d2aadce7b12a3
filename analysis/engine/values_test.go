package engine_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// The objects of guardedByFlag.
const (
	flag event.ObjectID = iota + 1
	lockA
	lockB
	data
)

// guardedByFlag returns a run in which two threads, one after the other, enter a section, acquire two
// locks in it or write data, and leave it. A thread enters by a read of the flag and a write, or by one
// read-modify-write.
func guardedByFlag(indivisible, locking bool) []event.Event {
	run := []event.Event{{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3}}
	add := func(t event.ThreadID, op event.Op, o event.ObjectID, value uint64, flags event.Flags) {
		e := event.Event{Thread: t, Op: op, Object: o, Kind: event.KindVariable, Value: value, Flags: flags}
		if o == lockA || o == lockB {
			e.Kind = event.KindMutex
		}
		run = append(run, e)
	}
	const known = event.Atomic | event.HasValue
	section := func(t event.ThreadID, first, second event.ObjectID) {
		add(t, event.Read, flag, 0, known)
		if indivisible {
			add(t, event.Update, flag, 1, known)
		} else {
			add(t, event.Write, flag, 1, known)
		}
		if locking {
			add(t, event.Acquire, first, 0, 0)
			add(t, event.Acquire, second, 0, 0)
			add(t, event.Release, second, 0, 0)
			add(t, event.Release, first, 0, 0)
		} else {
			add(t, event.Write, data, 0, 0)
		}
		add(t, event.Write, flag, 0, known)
	}
	section(2, lockA, lockB)
	section(3, lockB, lockA)
	for i := range run {
		run[i].Seq = uint64(i + 1)
	}
	return run
}

// TestPrintedValue checks that a read whose value its thread at most prints keeps no deadlock apart, but
// makes it likely at most, and that any other read of it does.
func TestPrintedValue(t *testing.T) {
	for _, printed := range []bool{true, false} {
		run := []event.Event{
			{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3},
			{Thread: 2, Op: event.Acquire, Object: lockA, Kind: event.KindMutex}, {Thread: 2, Op: event.Acquire, Object: lockB, Kind: event.KindMutex},
			{Thread: 2, Op: event.Update, Object: flag, Kind: event.KindVariable, Value: 1, Flags: event.Atomic | event.HasValue | event.ResultUnused},
			{Thread: 2, Op: event.Release, Object: lockB, Kind: event.KindMutex}, {Thread: 2, Op: event.Release, Object: lockA, Kind: event.KindMutex},
			{Thread: 3, Op: event.Read, Object: flag, Kind: event.KindVariable, Value: 1, Flags: event.Atomic | event.HasValue},
			{Thread: 3, Op: event.Acquire, Object: lockB, Kind: event.KindMutex}, {Thread: 3, Op: event.Acquire, Object: lockA, Kind: event.KindMutex},
			{Thread: 3, Op: event.Release, Object: lockA, Kind: event.KindMutex}, {Thread: 3, Op: event.Release, Object: lockB, Kind: event.KindMutex},
		}
		var want []string
		if printed {
			run[7].Flags |= event.ResultUnused
			want = []string{"likely deadlock"}
		}
		for i := range run {
			run[i].Seq = uint64(i + 1)
		}
		eventtest.Stamp(run)
		if got := brief(findings(run, func(*finding.Finding) reason.Reason { return reason.Reason{} })); !slices.Equal(got, want) {
			t.Errorf("printed %v: found %v, want %v", printed, got, want)
		}
	}
}

// TestOtherValue checks that a read of data which saw what the other thread wrote keeps no deadlock apart, but makes
// it likely at most; unless it is known to decide something else with the value of the other schedule. A load of an
// atomic variable, or by a loop that waits, orders as before.
func TestOtherValue(t *testing.T) {
	asked := predict.OtherRead{Stack: 8, Value: 1, Initially: true}
	for _, c := range []struct {
		name    string
		differs func(predict.OtherRead) bool
		flags   event.Flags
		before  []event.Event
		asked   predict.OtherRead
		want    []string
	}{
		{name: "nothing is known of the code"},
		{name: "it may do the same", differs: func(predict.OtherRead) bool { return false }, asked: asked, want: []string{"likely deadlock"}},
		{name: "it does something else", differs: func(predict.OtherRead) bool { return true }, asked: asked},
		{name: "atomic", differs: func(predict.OtherRead) bool { return false }, flags: event.Atomic},
		{name: "polled", differs: func(predict.OtherRead) bool { return false }, flags: event.Polled},
		{name: "the first value was read", differs: func(predict.OtherRead) bool { return false }, want: []string{"likely deadlock"},
			before: []event.Event{{Thread: 1, Op: event.Read, Object: flag, Kind: event.KindVariable, Value: 7, Flags: event.HasValue}},
			asked:  predict.OtherRead{Stack: 9, Value: 1, Other: 7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := slices.Concat(c.before, []event.Event{
				{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3},
				{Thread: 2, Op: event.Acquire, Object: lockA, Kind: event.KindMutex}, {Thread: 2, Op: event.Acquire, Object: lockB, Kind: event.KindMutex},
				{Thread: 2, Op: event.Write, Object: flag, Kind: event.KindVariable, Value: 1, Flags: event.HasValue | c.flags&event.Atomic},
				{Thread: 2, Op: event.Release, Object: lockB, Kind: event.KindMutex}, {Thread: 2, Op: event.Release, Object: lockA, Kind: event.KindMutex},
				{Thread: 3, Op: event.Acquire, Object: lockB, Kind: event.KindMutex},
				{Thread: 3, Op: event.Read, Object: flag, Kind: event.KindVariable, Value: 1, Flags: event.HasValue | c.flags},
				{Thread: 3, Op: event.Acquire, Object: lockA, Kind: event.KindMutex},
				{Thread: 3, Op: event.Release, Object: lockA, Kind: event.KindMutex}, {Thread: 3, Op: event.Release, Object: lockB, Kind: event.KindMutex},
			})
			for i := range run {
				run[i].Seq, run[i].Stack = uint64(i+1), event.StackID(i)
			}
			eventtest.Stamp(run)
			s := engine.New(engine.Options{Explain: true})
			var reads []predict.OtherRead
			program := part.Known{}
			if c.differs != nil {
				program.Differs = func(read event.StackID, seen, other uint64, initially bool) bool {
					r := predict.OtherRead{Stack: read, Value: seen, Other: other, Initially: initially}
					reads = append(reads, r)
					return c.differs(r)
				}
				program.Course = func(event.Detour) event.Course { return event.CourseUnclear }
			}
			for i := range run {
				e := run[i]
				s.Event(&e)
			}
			if got := brief(finish(s, verdict.Run{Doubt: func(*finding.Finding) reason.Reason { return reason.Reason{} }}, program)); !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
			if want := slices.DeleteFunc([]predict.OtherRead{c.asked}, func(r predict.OtherRead) bool { return r == predict.OtherRead{} }); !slices.Equal(reads, want) {
				t.Errorf("asked about %+v, want %+v", reads, want)
			}
			pruned := slices.ContainsFunc(s.Pruned(), func(p finding.Pruned) bool { return p.Kind == finding.Deadlock })
			if pruned != (len(c.want) == 0) {
				t.Errorf("the candidate is pruned: %v", pruned)
			}
		})
	}
}

// TestDetour checks that a thread which certainly goes elsewhere with another value keeps a deadlock apart, and that one
// which may do the same does not, whatever its first branch does.
func TestDetour(t *testing.T) {
	for _, c := range []struct {
		course event.Course
		branch bool
		want   []string
	}{
		{event.CourseElsewhere, false, nil}, {event.CourseSame, true, []string{"likely deadlock"}},
		{event.CourseUnclear, true, nil}, {event.CourseUnclear, false, []string{"likely deadlock"}},
	} {
		valued := event.HasValue
		run := []event.Event{
			{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3},
			{Thread: 2, Op: event.Acquire, Object: lockA, Kind: event.KindMutex}, {Thread: 2, Op: event.Acquire, Object: lockB, Kind: event.KindMutex},
			{Thread: 2, Op: event.Write, Object: flag, Kind: event.KindVariable, Value: 1, Flags: valued},
			{Thread: 2, Op: event.Release, Object: lockB, Kind: event.KindMutex}, {Thread: 2, Op: event.Release, Object: lockA, Kind: event.KindMutex},
			{Thread: 3, Op: event.Acquire, Object: lockB, Kind: event.KindMutex},
			{Thread: 3, Op: event.Read, Object: flag, Kind: event.KindVariable, Value: 1, Flags: valued},
			{Thread: 3, Op: event.Acquire, Object: lockA, Kind: event.KindMutex},
			{Thread: 3, Op: event.Release, Object: lockA, Kind: event.KindMutex}, {Thread: 3, Op: event.Release, Object: lockB, Kind: event.KindMutex},
		}
		for i := range run {
			run[i].Seq, run[i].Stack = uint64(i+1), event.StackID(i+20)
		}
		eventtest.Stamp(run)
		s := engine.New(engine.Options{})
		want := event.Detour{From: 27, Reads: []event.ReadValue{{Stack: 28, Object: flag, Value: 1, Initially: true}}, To: []event.StackID{29}}
		program := part.Known{Differs: func(event.StackID, uint64, uint64, bool) bool { return c.branch }}
		program.Course = func(d event.Detour) event.Course {
			if !reflect.DeepEqual(d, want) {
				t.Errorf("asked about %+v", d)
			}
			return c.course
		}
		for i := range run {
			e := run[i]
			s.Event(&e)
		}
		if got := brief(finish(s, verdict.Run{Doubt: func(*finding.Finding) reason.Reason { return reason.Reason{} }}, program)); !slices.Equal(got, c.want) {
			t.Errorf("%+v: found %v", c, got)
		}
	}
}

// TestSameValue checks that a flag which two threads may both find clear keeps them apart in no other
// schedule, but does so if they take it by one operation, or if its values are not known.
func TestSameValue(t *testing.T) {
	for _, c := range []struct {
		indivisible, locking bool
		change               func(run []event.Event)
		want                 []string
	}{
		{locking: true, want: []string{"predicted deadlock"}},
		{locking: false, want: []string{"predicted race"}},
		{indivisible: true, locking: true},
		{indivisible: true, locking: false},
		{locking: true, change: func(run []event.Event) { run[3].Flags &^= event.HasValue }},
		{locking: true, change: func(run []event.Event) { run[len(run)-1].Flags &^= event.HasValue }},
		{locking: true, change: func(run []event.Event) { run[8].Value, run[9].Value = 2, 2 }}, // T2 leaves another value than at first
		{locking: false, change: func(run []event.Event) { run[3].Flags &^= event.HasValue }},
	} {
		t.Run(fmt.Sprint(c.indivisible, c.locking, c.change != nil), func(t *testing.T) {
			run := guardedByFlag(c.indivisible, c.locking)
			if c.change != nil {
				c.change(run)
			}
			eventtest.Stamp(run)
			found := findings(run, func(*finding.Finding) reason.Reason { return reason.Reason{} })
			found = slices.DeleteFunc(found, func(f finding.Finding) bool { return f.Confidence == finding.Potential })
			if got := brief(found); !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}

// TestSameAddress checks that a read of what may be an address keeps the write that it saw, although another write left
// the same value.
func TestSameAddress(t *testing.T) {
	for value, want := range map[uint64][]string{0: {"predicted deadlock"}, 0x10000: nil, 0x10001: {"predicted deadlock"}} {
		run := guardedByFlag(false, true)
		for i := range run {
			if e := &run[i]; e.Object == flag && e.Value == 0 {
				e.Value = value
			}
		}
		eventtest.Stamp(run)
		if got := brief(findings(run, func(*finding.Finding) reason.Reason { return reason.Reason{} })); !slices.Equal(got, want) {
			t.Errorf("%#x: found %v, want %v", value, got, want)
		}
	}
}
