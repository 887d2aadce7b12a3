package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// filter is a plain model of which accesses of variables not named by the user the BPF programs do
// not record (redundant and read_before in bpf/shared.h).
type filter struct {
	events, outs map[event.ThreadID]int
	last         map[event.ObjectID]lastAccess
	version      map[event.ObjectID]int
	read         map[reader]reading
	owner        map[event.ObjectID]event.ThreadID
	shared       map[event.ObjectID]bool
}

type lastAccess struct {
	thread event.ThreadID
	events int
	wrote  bool
}

type reader struct {
	thread   event.ThreadID
	variable event.ObjectID
}

type reading struct{ version, outs int }

func newFilter() *filter {
	return &filter{map[event.ThreadID]int{}, map[event.ThreadID]int{}, map[event.ObjectID]lastAccess{}, map[event.ObjectID]int{}, map[reader]reading{}, map[event.ObjectID]event.ThreadID{}, map[event.ObjectID]bool{}}
}

// keep reports whether the event is recorded.
func (f *filter) keep(e event.Event) bool {
	if !e.Op.IsAccess() {
		f.events[e.Thread]++
		f.outs[e.Thread]++
		return true
	}
	if owner := f.owner[e.Object]; owner == 0 {
		f.owner[e.Object] = e.Thread
	} else if owner != e.Thread && !f.shared[e.Object] {
		f.shared[e.Object] = true
		f.version[e.Object]++ // Eraser tolerates what an owner did alone
	}
	if e.Op == event.Read {
		now, who := reading{f.version[e.Object], f.outs[e.Thread]}, reader{e.Thread, e.Object}
		if before, ok := f.read[who]; ok && before == now {
			return false
		}
		f.read[who] = now
	}
	if f.last[e.Object] == (lastAccess{e.Thread, f.events[e.Thread], true}) {
		return false
	}
	f.events[e.Thread]++
	if e.Op.IsWrite() {
		f.outs[e.Thread]++
		f.version[e.Object]++
	}
	f.last[e.Object] = lastAccess{e.Thread, f.events[e.Thread], e.Op.IsWrite()}
	return true
}

// accessRun returns a random run of threads that use locks, access variables, and are created and
// joined by the first thread.
func accessRun(rt *rapid.T) []event.Event {
	const children, locks, variables = 3, 2, 3
	held := map[event.ObjectID]event.ThreadID{}
	var live, ended []event.ThreadID
	var run []event.Event
	emit := func(e event.Event) {
		e.Stack = event.StackID(len(run) + 1) // makes each pair of accesses a finding of its own
		run = append(run, e)
	}
	emit(event.Event{Thread: 1, Op: event.Begin})
	live = append(live, 1)
	for next := event.ThreadID(2); len(run) < 60; {
		t := rapid.SampledFrom(live).Draw(rt, "thread")
		switch what := rapid.IntRange(0, 11).Draw(rt, "what"); {
		case what == 0 && t == 1 && next <= 1+children:
			emit(event.Event{Thread: 1, Op: event.Fork, Peer: next})
			emit(event.Event{Thread: next, Op: event.Begin})
			live, next = append(live, next), next+1
		case what == 1 && t != 1 && !slices.Contains(holders(held), t):
			emit(event.Event{Thread: t, Op: event.End})
			live = slices.DeleteFunc(live, func(u event.ThreadID) bool { return u == t })
			ended = append(ended, t)
		case what == 2 && len(ended) > 0 && t == 1:
			emit(event.Event{Thread: 1, Op: event.Join, Peer: ended[0]})
			ended = ended[1:]
		case what <= 5:
			l := event.ObjectID(rapid.IntRange(1, locks).Draw(rt, "lock"))
			switch held[l] {
			case 0:
				held[l] = t
				emit(event.Event{Thread: t, Op: event.Acquire, Object: l, Kind: event.KindMutex})
			case t:
				held[l] = 0
				emit(event.Event{Thread: t, Op: event.Release, Object: l, Kind: event.KindMutex})
			}
		default:
			v := event.ObjectID(10 + rapid.IntRange(0, variables-1).Draw(rt, "variable"))
			op := rapid.SampledFrom([]event.Op{event.Read, event.Read, event.Write, event.Update}).Draw(rt, "access")
			for range rapid.IntRange(1, 3).Draw(rt, "times") {
				emit(event.Event{Thread: t, Op: op, Object: v, Kind: event.KindVariable})
			}
		}
	}
	return run
}

func holders(held map[event.ObjectID]event.ThreadID) (out []event.ThreadID) {
	for _, t := range held {
		out = append(out, t)
	}
	return out
}

// racing returns the variables with a race, or, if confident, with one that is more than
// potential.
func racing(run []event.Event, confident bool) []event.ObjectID {
	run = slices.Clone(run)
	for i := range run {
		run[i].Seq = uint64(i + 1)
	}
	eventtest.Stamp(run)
	s := engine.New(engine.Options{})
	for i := range run {
		s.Event(&run[i])
	}
	var out []event.ObjectID
	for _, f := range finish(s, verdict.Run{}, part.Known{}) {
		if f.Kind == finding.Race && (!confident || f.Confidence != finding.Potential) {
			out = append(out, f.Objects...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestRedundantAccessesAddNothing checks that without the unrecorded accesses every variable that
// has a race with a witness still has one, and that no other variable has a race at all. A
// potential race may be missing: between a thread's read of its own write and the write of a
// thread that has read that value under the same lock. The lock excludes that race, but the
// lockset alone does not show it.
func TestRedundantAccessesAddNothing(t *testing.T) {
	left := 0
	rapid.Check(t, func(rt *rapid.T) {
		run := accessRun(rt)
		f := newFilter()
		kept := slices.DeleteFunc(slices.Clone(run), func(e event.Event) bool { return !f.keep(e) })
		left += len(run) - len(kept)
		within := func(some, all []event.ObjectID, what string) {
			for _, v := range some {
				if !slices.Contains(all, v) {
					rt.Fatalf("%s on %d\nall:  %v\nkept: %v", what, v, steps(run), steps(kept))
				}
			}
		}
		within(racing(run, true), racing(kept, true), "what is recorded has lost the race")
		within(racing(kept, false), racing(run, false), "what is recorded alone has a race")
	})
	if left == 0 {
		t.Error("nothing was left out")
	}
}

func steps(run []event.Event) (out []string) {
	for _, e := range run {
		out = append(out, fmt.Sprintf("T%d %s %d %d", e.Thread, e.Op, e.Object, e.Peer))
	}
	return out
}
