package locks_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestAgreesWithPlainModel checks that a thread holds what it has acquired and not released, and
// that the leading locks counted by Same have not changed.
func TestAgreesWithPlainModel(t *testing.T) {
	for seed := range uint64(300) {
		run := eventtest.RandomSections(rand.New(rand.NewPCG(seed, 3)), 200)
		l, plain, before := locks.New(), map[event.ThreadID][]locks.Held{}, map[event.ThreadID][]locks.Held{}
		for i := range run {
			e := &run[i]
			l.Event(e)
			mine := plain[e.Thread]
			at := slices.IndexFunc(mine, func(h locks.Held) bool { return h.Lock() == e.Object })
			switch {
			case e.Op.IsAcquire() && at < 0:
				mine = append(slices.Clone(mine), locks.Held{Member: locks.MemberOf(e.Object, e.Op == event.AcquireRead), Stack: e.Stack, Seq: e.Seq})
			case e.Op == event.Release && at >= 0:
				mine = slices.Delete(slices.Clone(mine), at, at+1)
			}
			plain[e.Thread] = mine
			th := l.Thread(e.Thread)
			if diff := cmp.Diff(mine, th.Held); diff != "" && len(mine)+len(th.Held) > 0 {
				t.Fatalf("seed %d, event %d (-want +got):\n%s", seed, i+1, diff)
			}
			if n := th.Same; n > len(before[e.Thread]) || !slices.Equal(before[e.Thread][:n], th.Held[:n]) {
				t.Fatalf("seed %d, event %d: %d are said to be the same of %v and %v", seed, i+1, n, before[e.Thread], th.Held)
			}
			if e.Op.IsAcquire() || e.Op == event.Release {
				before[e.Thread] = slices.Clone(th.Held)
			}
		}
	}
}

func TestAcquireAgain(t *testing.T) {
	l := locks.New()
	for i, e := range []event.Event{{Op: event.AcquireRead}, {Op: event.Acquire}} {
		e.Thread, e.Object, e.Stack, e.Seq = 1, 7, event.StackID(i+1), uint64(i+1)
		l.Event(&e)
	}
	if th := l.Thread(1); !th.Unchanged || len(th.Held) != 1 || !th.Held[0].Shared() || th.Held[0].Seq != 1 {
		t.Errorf("%+v", th)
	}
}

// TestReleased checks which acquire a release ends, whatever the order of releases.
func TestReleased(t *testing.T) {
	l := locks.New()
	for i := range event.ObjectID(4) {
		l.Event(&event.Event{Thread: 1, Op: event.Acquire, Object: i + 1, Seq: uint64(i + 1), Time: uint64(10 * (i + 1))})
	}
	th := l.Thread(1)
	for _, lock := range []event.ObjectID{2, 4, 1, 3} {
		l.Event(&event.Event{Thread: 1, Op: event.Release, Object: lock})
		if h := th.Released(); h == nil || h.Lock() != lock || h.Seq != uint64(lock) || h.Time != 10*h.Seq || th.Find(lock) >= 0 {
			t.Errorf("released %d: %+v, still held %+v", lock, h, th.Held)
		}
	}
	if l.Event(&event.Event{Thread: 1, Op: event.Release, Object: 3}); th.Released() != nil {
		t.Errorf("released a lock that is not held: %+v", th.Released())
	}
}

// TestHolder checks that the reader with the oldest acquire is returned, and that a release by
// another thread marks its acquire.
func TestHolder(t *testing.T) {
	l := locks.New()
	for seq, thread := range []event.ThreadID{3, 1, 2} {
		l.Event(&event.Event{Thread: thread, Op: event.AcquireRead, Object: 7, Seq: uint64(seq + 1)})
	}
	l.Event(&event.Event{Thread: 4, Op: event.ReleaseUnheld, Object: 7, Flags: event.InCondWait})
	if th, h := l.Holder(7); th == nil || th.ID != 3 || h.Seq != 1 || h.ReleasedByOther {
		t.Errorf("%+v %+v", th, h)
	}
	l.Event(&event.Event{Thread: 4, Op: event.ReleaseUnheld, Object: 7})
	if _, h := l.Holder(7); !h.ReleasedByOther {
		t.Errorf("%+v", h)
	}
	if th, h := l.Holder(8); th != nil || h != nil {
		t.Errorf("%+v %+v", th, h)
	}
}

// TestEndsAndJoins checks that a thread that has ended, or was joined, holds nothing.
func TestEndsAndJoins(t *testing.T) {
	for _, end := range []event.Event{{Thread: 2, Op: event.End}, {Thread: 1, Op: event.Join, Peer: 2}} {
		l := locks.New()
		l.Event(&event.Event{Thread: 2, Op: event.Acquire, Object: 7})
		th := l.Thread(2)
		l.Event(&end)
		if len(th.Held) != 0 || len(l.Thread(2).Held) != 0 {
			t.Errorf("%v: %+v", end.Op, th)
		}
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	run := eventtest.RandomSections(rand.New(rand.NewPCG(1, 3)), 1000)
	l := locks.New()
	repeat := func() {
		for i := range run {
			l.Event(&run[i])
		}
	}
	repeat()
	if n := testing.AllocsPerRun(5, repeat); n > 0 {
		t.Errorf("%v allocations for %d events", n, len(run))
	}
}
