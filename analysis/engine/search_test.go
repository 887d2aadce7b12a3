package engine_test

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// The variables and call stacks of manyCandidates.
const (
	rareVariable   event.ObjectID = 100
	manyOf                        = 20 // variables of the same code
	commonWriter   event.StackID  = 1
	commonReader   event.StackID  = 2
	rareWriter     event.StackID  = 3
	rareReader     event.StackID  = 4
	firstNested    event.ObjectID = 201
	secondNested   event.ObjectID = 202
	sectionsOfRace event.ObjectID = 200
)

// manyCandidates is a run with a deadlock, with the same race on many variables, hidden by a lock, and last with one
// of other code.
func manyCandidates() []event.Event {
	nest := func(t event.ThreadID, outer, inner event.ObjectID, at event.StackID) (out []event.Event) {
		for i, e := range []event.Event{{Op: event.Acquire, Object: outer}, {Op: event.Acquire, Object: inner}, {Op: event.Release, Object: inner}, {Op: event.Release, Object: outer}} {
			e.Thread, e.Kind, e.Stack = t, event.KindMutex, at+event.StackID(i)
			out = append(out, e)
		}
		return out
	}
	access := func(t event.ThreadID, op event.Op, o event.ObjectID, at event.StackID) event.Event {
		return event.Event{Thread: t, Op: op, Object: o, Kind: event.KindVariable, Stack: at}
	}
	lock := func(t event.ThreadID) []event.Event {
		return []event.Event{
			{Thread: t, Op: event.Acquire, Object: sectionsOfRace, Kind: event.KindMutex, Stack: 50},
			{Thread: t, Op: event.Release, Object: sectionsOfRace, Kind: event.KindMutex, Stack: 51},
		}
	}
	run := []event.Event{{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3}}
	for i := range event.ObjectID(manyOf) {
		run = append(run, access(2, event.Write, i+1, commonWriter))
	}
	run = append(run, access(2, event.Write, rareVariable, rareWriter))
	run = append(append(run, lock(2)...), lock(3)...)
	for i := range event.ObjectID(manyOf) {
		run = append(run, access(3, event.Write, i+1, commonReader))
	}
	run = append(run, access(3, event.Write, rareVariable, rareReader))
	run = append(append(run, nest(2, firstNested, secondNested, 60)...), nest(3, secondNested, firstNested, 70)...)
	for i := range run {
		run[i].Seq = uint64(i + 1)
	}
	eventtest.Stamp(run)
	return run
}

// cutAfter analyses manyCandidates, where the time is over when so many candidates were searched; negative: never.
func cutAfter(n int) (s *engine.Engine, found []finding.Finding) {
	asked := 0
	s = engine.New(engine.Options{
		Asked: func(n, _ int) { asked = n },
		Done: func() string {
			if n >= 0 && asked >= n {
				return "a test"
			}
			return ""
		},
	})
	run := manyCandidates()
	for i := range run {
		s.Event(&run[i])
	}
	return s, finish(s, verdict.Run{}, part.Known{})
}

// TestMostPromisingFirst: if the time ends early, deadlocks are searched before races, and one race of each code
// before more of the same. The others are potential, with the reason, and counted. The deadlock was predicted during the
// run.
func TestMostPromisingFirst(t *testing.T) {
	predicted := func(found []finding.Finding) (deadlocks, rare, common, potential int) {
		for i := range found {
			f := &found[i]
			switch {
			case f.Confidence == finding.Potential:
				if potential++; !f.Reason.Given() {
					t.Errorf("%+v has no reason", f)
				}
			case f.Kind == finding.Deadlock:
				deadlocks++
			case f.Objects[0] == rareVariable:
				rare++
			default:
				common++
			}
		}
		return deadlocks, rare, common, potential
	}
	for _, c := range []struct{ after, deadlocks, rare, common, potential int }{
		{-1, 1, 1, manyOf, 0},
		{0, 1, 0, 0, manyOf + 1},
		{1, 1, 0, 0, manyOf + 1},
		{2, 1, 0, 1, manyOf},
		{3, 1, 1, 1, manyOf - 1},
		{4, 1, 1, 2, manyOf - 2},
	} {
		s, found := cutAfter(c.after)
		deadlocks, rare, common, potential := predicted(found)
		if deadlocks != c.deadlocks || rare != c.rare || common != c.common || potential != c.potential {
			t.Errorf("after %d candidates: predicted %d deadlocks, %d and %d races, and %d are potential, want %+v", c.after, deadlocks, rare, common, potential, c)
		}
		by := ""
		if c.potential > 0 {
			by = "a test"
		}
		if b := s.Bounds(); b.NotSearched != uint64(c.potential) || b.CutShortBy != by {
			t.Errorf("after %d candidates: %d were not searched by %q", c.after, b.NotSearched, b.CutShortBy)
		}
	}
}

// TestNamedFirst: of races of the same code, those on objects with names are searched first.
func TestNamedFirst(t *testing.T) {
	asked := 0
	s := engine.New(engine.Options{
		Asked: func(n, _ int) { asked = n },
		Done: func() string {
			if asked >= 3 { // the deadlock, and a race of each code
				return "a test"
			}
			return ""
		},
	})
	run := manyCandidates()
	for i := range run {
		s.Event(&run[i])
	}
	const named = manyOf / 2
	var objects []event.ObjectID
	for _, f := range finish(s, verdict.Run{}, part.Known{Named: func(o event.ObjectID) bool { return o == named || o == rareVariable }}) {
		if f.Kind == finding.Race && f.Confidence != finding.Potential {
			objects = append(objects, f.Objects[0])
		}
	}
	if len(objects) != 2 || objects[1] != rareVariable || objects[0] != named {
		t.Errorf("races on %v were searched first, want %d and %d", objects, named, rareVariable)
	}
}
