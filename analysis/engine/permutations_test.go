package engine_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// permutations returns a run of threads that each nest the same locks, in an order of its own.
func permutations(threads, locks int) []event.Event {
	r := rand.New(rand.NewPCG(1, 2))
	var events []event.Event
	add := func(t event.ThreadID, op event.Op, lock int) {
		events = append(events, event.Event{
			Seq: uint64(len(events) + 1), Thread: t, Op: op, Object: event.ObjectID(1 + lock), Kind: event.KindMutex, Stack: event.StackID(1 + lock),
		})
	}
	for i := range threads {
		events = append(events, event.Event{Seq: uint64(len(events) + 1), Thread: 1, Op: event.Fork, Peer: event.ThreadID(2 + i)})
	}
	for i := range threads {
		order := r.Perm(locks)
		for _, l := range order {
			add(event.ThreadID(2+i), event.Acquire, l)
		}
		for j := range order {
			add(event.ThreadID(2+i), event.Release, order[locks-1-j])
		}
	}
	eventtest.Stamp(events)
	return events
}

// TestPermutationsOfLocks checks that threads which each nest all locks in an order of their own need memory for
// each acquire, not for each two locks, and that the deadlocks among them are found.
func TestPermutationsOfLocks(t *testing.T) {
	const threads, locks = 8, 1000
	events := permutations(threads, locks)
	s := engine.New(engine.Options{Locks: goodlock.Options{MaxThreads: 2}})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range events {
		s.Event(&events[i])
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	const each = 3 << 10 // bytes for an acquire; copies of what is held would be more than twice as much
	if used, limit := int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(threads*locks*each); used > limit {
		t.Errorf("%d bytes are in use, of %d", used, limit)
	}
	found := finish(s, verdict.Run{}, part.Known{})
	if len(found) == 0 || found[0].Kind != finding.Deadlock {
		t.Errorf("%d findings", len(found))
	}
	runtime.KeepAlive(events)
}
