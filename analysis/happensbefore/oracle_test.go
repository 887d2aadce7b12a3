package happensbefore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// oracle computes SHB by its definition: a clock is a set of events, and every access is kept
// and compared with every other. It is quadratic, and has no epochs.
type oracle struct {
	threads map[event.ThreadID]set
	locks   map[event.ObjectID]*plainLock
	posts   map[event.ObjectID][]set
	writes  map[event.ObjectID]set // the last write of a variable
	atomic  map[event.ObjectID]bool
	past    []set // by event: the events that come before it, and itself
}

type set map[int]bool

func (s set) with(o set) {
	for i := range o {
		s[i] = true
	}
}

type plainLock struct{ writers, readers set }

func newOracle() *oracle {
	return &oracle{map[event.ThreadID]set{}, map[event.ObjectID]*plainLock{}, map[event.ObjectID][]set{}, map[event.ObjectID]set{}, map[event.ObjectID]bool{}, nil}
}

func (o *oracle) thread(id event.ThreadID) set {
	if o.threads[id] == nil {
		o.threads[id] = set{}
	}
	return o.threads[id]
}

func copied(s set) set { out := set{}; out.with(s); return out }

// take takes the next event of a run of accesses, lock operations, fork, join and a semaphore of
// initial value 0.
func (o *oracle) take(e *event.Event) {
	me, i := o.thread(e.Thread), len(o.past)
	l := o.locks[e.Object]
	if l == nil {
		l = &plainLock{set{}, set{}}
		o.locks[e.Object] = l
	}
	switch e.Op {
	case event.Acquire:
		me.with(l.writers)
		me.with(l.readers)
	case event.AcquireRead:
		me.with(l.writers)
	case event.Join:
		me.with(o.thread(e.Peer))
	case event.SemWait:
		me.with(o.posts[e.Object][0])
		o.posts[e.Object] = o.posts[e.Object][1:]
	case event.Read, event.Update:
		if e.Flags&event.Atomic != 0 && o.atomic[e.Object] {
			me.with(o.writes[e.Object])
		}
	}
	me[i] = true
	o.past = append(o.past, copied(me))
	switch e.Op {
	case event.Release:
		if e.Kind == event.KindRWLock && e.Value == 1 { // release by a reader
			l.readers.with(me)
		} else {
			l.writers.with(me)
		}
	case event.Fork:
		o.thread(e.Peer).with(me)
	case event.SemPost:
		o.posts[e.Object] = append(o.posts[e.Object], copied(me))
	case event.Read:
		me.with(o.writes[e.Object])
	case event.Write, event.Update:
		if e.Op == event.Update {
			me.with(o.writes[e.Object])
		}
		o.writes[e.Object], o.atomic[e.Object] = copied(me), e.Flags&event.Atomic != 0
	}
}

func racing(run []event.Event, past []set, i, j int) bool {
	a, b := &run[i], &run[j]
	return a.Op.IsAccess() && b.Op.IsAccess() && a.Object == b.Object && (a.Op.IsWrite() || b.Op.IsWrite()) &&
		!atomicPair(a.Flags, b.Flags) && !past[j][i]
}

// atomicPair is event.BothAtomic, case by case.
func atomicPair(a, b event.Flags) bool {
	switch {
	case a&event.Atomic != 0 && b&event.Atomic != 0:
		return true
	case a&event.Atomic != 0:
		return b&event.PerhapsAtomic != 0
	case b&event.Atomic != 0:
		return a&event.PerhapsAtomic != 0
	}
	return false
}

// plainRun returns a random run of the operations that the oracle knows.
func plainRun(r *rand.Rand, n int) []event.Event {
	const x, mutex, rw, sem = 1, 11, 21, 31
	var run []event.Event
	owner, readers := map[event.ObjectID]event.ThreadID{}, map[event.ThreadID]bool{}
	live, ended, next, posts := []event.ThreadID{1}, []event.ThreadID{}, event.ThreadID(2), 0
	emit := func(e event.Event) {
		e.Seq, e.Stack = uint64(len(run)+1), event.StackID(len(run)+1)
		run = append(run, e)
	}
	emit(event.Event{Thread: 1, Op: event.Init, Object: sem, Kind: event.KindSemaphore, Flags: event.HasValue})
	for len(run) < n {
		t := live[r.IntN(len(live))]
		switch r.IntN(10) {
		case 0, 1, 2, 3:
			op := []event.Op{event.Read, event.Read, event.Write, event.Update}[r.IntN(4)]
			emit(event.Event{Thread: t, Op: op, Object: x + event.ObjectID(r.IntN(2)), Kind: event.KindVariable, Flags: []event.Flags{0, 0, event.PerhapsAtomic, event.Atomic}[r.IntN(4)]})
		case 4, 5:
			m := mutex + event.ObjectID(r.IntN(2))
			if owner[m] == 0 {
				owner[m] = t
				emit(event.Event{Thread: t, Op: event.Acquire, Object: m, Kind: event.KindMutex})
			} else {
				emit(event.Event{Thread: owner[m], Op: event.Release, Object: m, Kind: event.KindMutex})
				delete(owner, m)
			}
		case 6, 7:
			switch {
			case owner[rw] != 0:
				emit(event.Event{Thread: owner[rw], Op: event.Release, Object: rw, Kind: event.KindRWLock})
				delete(owner, rw)
			case readers[t]:
				emit(event.Event{Thread: t, Op: event.Release, Object: rw, Kind: event.KindRWLock, Value: 1})
				delete(readers, t)
			case len(readers) == 0 && r.IntN(2) == 0:
				owner[rw] = t
				emit(event.Event{Thread: t, Op: event.Acquire, Object: rw, Kind: event.KindRWLock})
			default:
				readers[t] = true
				emit(event.Event{Thread: t, Op: event.AcquireRead, Object: rw, Kind: event.KindRWLock})
			}
		case 8:
			if posts > 0 && r.IntN(2) == 0 {
				posts--
				emit(event.Event{Thread: t, Op: event.SemWait, Object: sem, Kind: event.KindSemaphore})
			} else {
				posts++
				emit(event.Event{Thread: t, Op: event.SemPost, Object: sem, Kind: event.KindSemaphore})
			}
		case 9:
			holds := readers[t] || owner[rw] == t || owner[mutex] == t || owner[mutex+1] == t
			switch {
			case len(live) < 4:
				emit(event.Event{Thread: t, Op: event.Fork, Peer: next})
				live, next = append(live, next), next+1
			case len(ended) > 0:
				emit(event.Event{Thread: t, Op: event.Join, Peer: ended[0]})
				ended = ended[1:]
			case !holds && t != 1:
				emit(event.Event{Thread: t, Op: event.End})
				live = slices.DeleteFunc(live, func(o event.ThreadID) bool { return o == t })
				ended = append(ended, t)
			}
		}
	}
	return run
}

// TestRacesAreThoseOfTheDefinition: on tens of thousands of random runs an access ends a
// race exactly if the definition says so, and each pair that is reported is one.
func TestRacesAreThoseOfTheDefinition(t *testing.T) {
	runs, total := testtool.Cases(2000, 10_000, 30_000), 0
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		run := plainRun(r, 10+r.IntN(40))
		o, want := newOracle(), map[uint64]bool{}
		for j := range run {
			o.take(&run[j])
			for i := range j {
				if racing(run, o.past, i, j) {
					want[run[j].Seq] = true
				}
			}
		}
		eventtest.Stamp(run)
		a, got := New(Options{MaxPairs: 1000}), map[uint64]bool{}
		for i := range run {
			e := run[i] // an analysis must not keep it
			a.Event(&e)
			e = event.Event{}
		}
		for _, f := range a.Finish() {
			i, j := int(f.Evidence[0].Seq-1), int(f.Evidence[1].Seq-1)
			got[run[j].Seq] = true
			if !racing(run, o.past, i, j) || f.Confidence != finding.Observed || f.Threads[0] != run[i].Thread || f.Threads[1] != run[j].Thread {
				t.Fatalf("seed %d: %d and %d are no race: %+v", seed, i+1, j+1, f)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: races end at (-want +got):\n%s\n%s", seed, diff, describe(run))
		}
		total += len(want)
	}
	if total < runs {
		t.Errorf("%d races in %d runs", total, runs)
	}
}

func describe(run []event.Event) (out []string) {
	for _, e := range run {
		out = append(out, fmt.Sprintf("%d: T%d %s %d %d %x\n", e.Seq, e.Thread, e.Op, e.Object, e.Peer, e.Flags))
	}
	return out
}

// TestSteadyStateAllocatesNothing: whatever its lock or variable, no event allocates memory.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	run := stamped(mixture(1 << 12))
	a := New(Options{})
	pass := func() {
		for i := range run {
			a.Event(&run[i])
		}
	}
	for range 4 {
		pass()
	}
	run = run[mixThreads:]
	if n := testing.AllocsPerRun(5, pass); n > 0 {
		t.Errorf("%v allocations in %d events", n, len(run))
	}
	if s := a.Stats(); s.Races > 0 || s.Variables == 0 || s.Locks == 0 {
		t.Errorf("%+v", s)
	}
}

// TestMemoryIsBounded: threads, locks and variables that end leave nothing in memory.
func TestMemoryIsBounded(t *testing.T) {
	var run []event.Event
	emit := func(t event.ThreadID, op event.Op, o event.ObjectID, peer event.ThreadID, k event.Kind) {
		run = append(run, event.Event{Seq: uint64(len(run) + 1), Thread: t, Op: op, Object: o, Peer: peer, Kind: k})
	}
	for i := range 5000 {
		child, lock, variable := event.ThreadID(i+2), event.ObjectID(3*i+1), event.ObjectID(3*i+2)
		emit(1, event.Fork, 0, child, 0)
		emit(child, event.Init, lock, 0, event.KindMutex)
		emit(child, event.Acquire, lock, 0, event.KindMutex)
		emit(child, event.Write, variable, 0, event.KindVariable)
		emit(child, event.Release, lock, 0, event.KindMutex)
		if i%2 == 0 {
			emit(1, event.Read, variable, 0, event.KindVariable) // a race with the same call stacks as the others
		}
		emit(child, event.Destroy, lock, 0, event.KindMutex)
		emit(1, event.Destroy, variable, 0, event.KindVariable)
		emit(child, event.End, 0, 0, 0)
		if i%3 == 0 {
			emit(1, event.Detach, 0, child, 0)
		} else {
			emit(1, event.Join, 0, child, 0)
		}
	}
	eventtest.Stamp(run)
	a := New(Options{})
	for i := range run {
		a.Event(&run[i])
	}
	versions := len(a.clocks.spare)
	for _, x := range a.slots {
		if x != nil {
			versions++
		}
	}
	t.Logf("%d slots, %d clocks", len(a.slots), versions)
	if n := len(a.live) + len(a.pending) + len(a.ended) + len(a.detached) + len(a.inits) + len(a.locks.all) + len(a.vars.all) + len(a.others.all); n > 8 {
		t.Errorf("%d threads, %d pending, %d ended, %d detached, %d inits, %d locks, %d variables, %d others", len(a.live), len(a.pending), len(a.ended), len(a.detached), len(a.inits), len(a.locks.all), len(a.vars.all), len(a.others.all))
	}
	if n := len(a.found.ended); n > maxEnded || n == 0 {
		t.Errorf("%d reports of one pair of call stacks", n)
	}
	if versions > 3*len(a.slots)+100 {
		t.Errorf("%d clocks for %d slots", versions, len(a.slots))
	}
}
