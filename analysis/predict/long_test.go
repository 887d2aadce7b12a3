package predict

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// feed passes a run to a history event by event, as the observer does.
type feed struct {
	seq uint64
	m   *clock.Must
	h   *History
}

func newFeed(o Options) *feed { return &feed{m: clock.New(), h: New(o)} }

func (f *feed) add(e event.Event) uint64 {
	f.seq++
	e.Seq = f.seq
	f.m.Stamp(&e)
	f.h.Event(&e)
	f.m.Done(&e)
	return f.seq
}

// nest acquires the locks one inside the other, and returns the Seq of the last acquire.
func (f *feed) nest(thread event.ThreadID, locks ...event.ObjectID) uint64 {
	var last uint64
	for _, l := range locks {
		last = f.add(event.Event{Thread: thread, Op: event.Acquire, Object: l})
	}
	for i := len(locks) - 1; i >= 0; i-- {
		f.add(event.Event{Thread: thread, Op: event.Release, Object: locks[i]})
	}
	return last
}

// TestEarlyAndLate: the two sides of a deadlock are predicted although many events lie between
// them, more than the history may keep.
func TestEarlyAndLate(t *testing.T) {
	f := newFeed(Options{Sections: 8, Events: 256, Witness: 16})
	f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
	early := f.nest(1, lockA, lockB)
	for range 20_000 {
		f.nest(1, lockC)
		f.nest(2, lockC)
	}
	late := f.nest(2, lockB, lockA)
	r := f.h.Deadlock(Pattern{{early}, {late}})
	if r.Verdict != Predicted {
		t.Fatalf("%v: %s", r.Verdict, r.Reason)
	}
	if len(r.Witness) > 16 || r.Elided < 70_000 {
		t.Errorf("%d steps after %d that were left out", len(r.Witness), r.Elided)
	}
	last := r.Witness[len(r.Witness)-1]
	if !last.Blocked || last.Thread != 2 || last.Seq != 0 || len(last.Held) != 1 || last.Held[0] != lockB {
		t.Errorf("the last step is %+v", last)
	}
}

// TestEvictedWhileHeld: that the other instances of a pattern are ordered refutes nothing if the lock of an instance was held
// when that was evicted: it is kept, but nothing can come before it any more. The twin evicts nothing.
func TestEvictedWhileHeld(t *testing.T) {
	for events, want := range map[int]Verdict{32: Unknown, 4096: Predicted} {
		f := newFeed(Options{Sections: 2, Events: events})
		f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
		f.add(event.Event{Thread: 1, Op: event.Acquire, Object: lockA})
		early := f.add(event.Event{Thread: 1, Op: event.Acquire, Object: lockB})
		f.add(event.Event{Thread: 1, Op: event.Release, Object: lockA})
		for range 100 {
			f.add(event.Event{Thread: 1, Op: event.Read, Object: varX})
		}
		f.add(event.Event{Thread: 1, Op: event.Release, Object: lockB})
		other := f.nest(2, lockB, lockA)
		f.add(event.Event{Thread: 2, Op: event.End})
		f.add(event.Event{Thread: 1, Op: event.Join, Peer: 2})
		late := f.nest(1, lockA, lockB)
		if r := f.h.Deadlock(Pattern{{early, late}, {other}}); r.Verdict != want {
			t.Errorf("%d events: %v (%v), want %v", events, r.Verdict, r.Reason.What, want)
		}
	}
}

// TestRareInTheMiddle: the one iteration of a loop that acquired a second lock is kept, although
// it is among the sections that are discarded.
func TestRareInTheMiddle(t *testing.T) {
	f := newFeed(Options{Sections: 8, Events: 256})
	f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
	loop := func() {
		for range 5000 {
			f.nest(1, lockA)
		}
	}
	loop()
	rare := f.nest(1, lockA, lockB)
	loop()
	late := f.nest(2, lockB, lockA)
	if r := f.h.Deadlock(Pattern{{rare}, {late}}); r.Verdict != Predicted {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
}

// TestDiscardedMayDecide: a schedule that leaves out sections of a lock rests on what they did also if the
// history has discarded them.
func TestDiscardedMayDecide(t *testing.T) {
	for _, between := range []int{0, 1, 5000} {
		f := newFeed(Options{Sections: 8, Events: 256})
		f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
		for range 5000 {
			f.nest(1, lockA)
			f.nest(2, lockA)
		}
		a := f.add(event.Event{Thread: 1, Op: event.Write, Object: varX})
		for range between {
			f.nest(1, lockA)
		}
		f.nest(2, lockA)
		b := f.add(event.Event{Thread: 2, Op: event.Write, Object: varX})
		for range 5000 {
			f.nest(1, lockA)
			f.nest(2, lockA)
		}
		r := f.h.Race(a, b)
		if assumed := slices.Contains(r.Assumes, finding.GuardedData); r.Verdict != Predicted || assumed != (between > 0) {
			t.Errorf("%d sections left out: %v, assumes %q", between, r.Verdict, r.Assumes)
		}
	}
}

// TestBoundedMemory: whatever operations a run repeats, the history stays small.
func TestBoundedMemory(t *testing.T) {
	f := newFeed(Options{Sections: 8, Events: 512})
	f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
	f.add(event.Event{Thread: 1, Op: event.Acquire, Object: 99}) // held throughout
	for i := range 20_000 {
		lock := event.ObjectID(1000 + i) // locks come and go
		f.nest(1, lock)
		f.add(event.Event{Thread: 1, Op: event.Write, Object: varX})
		f.add(event.Event{Thread: 2, Op: event.Read, Object: varX})
		f.nest(2, lockA, lockB)
		f.add(event.Event{Thread: 2, Op: event.SemPost, Object: theSem})
		f.add(event.Event{Thread: 1, Op: event.BarrierArrive, Object: theBarrier})
		f.add(event.Event{Thread: 2, Op: event.BarrierArrive, Object: theBarrier})
		f.add(event.Event{Thread: 2, Op: event.BarrierDepart, Object: theBarrier})
		f.add(event.Event{Thread: 1, Op: event.BarrierDepart, Object: theBarrier})
	}
	h := f.h
	if h.blind {
		t.Error("a cut went through a barrier generation")
	}
	needs := 0
	for i := range h.slots {
		needs += len(h.slots[i].needs) + len(h.slots[i].held) + len(h.slots[i].gaps)
	}
	if len(h.log) > 512 || needs > 4*512 || len(h.locks) > 512 || len(h.points) > 1<<12+64 {
		t.Errorf("%d events, %d edges, %d locks, %d sets", len(h.log), needs, len(h.locks), len(h.points))
	}
	if h.log[0].Object != 99 {
		t.Errorf("the acquire of the lock held throughout was evicted: %+v", h.log[0])
	}
}

// TestReasons: a verdict that is not Predicted has a Reason.
func TestReasons(t *testing.T) {
	ask := func(run func(f *feed) Pattern) Result {
		f := newFeed(Options{})
		f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
		return f.h.Deadlock(run(f))
	}
	tests := []struct {
		name    string
		run     func(f *feed) Pattern
		verdict Verdict
		reason  reason.What
	}{
		{"trylock", func(f *feed) Pattern {
			a := f.nest(1, lockA, lockB)
			f.add(event.Event{Thread: 2, Op: event.Acquire, Object: lockB})
			b := f.add(event.Event{Thread: 2, Op: event.Acquire, Object: lockA, Flags: event.Try})
			return Pattern{{a}, {b}}
		}, Refuted, reason.OnlyTrylocks},
		{"never released", func(f *feed) Pattern {
			f.add(event.Event{Thread: 1, Op: event.Acquire, Object: lockA})
			a := f.add(event.Event{Thread: 1, Op: event.Acquire, Object: lockB})
			b := f.nest(2, lockC, lockRW)
			return Pattern{{a}, {b}}
		}, Refuted, reason.NoCycle},
		{"one thread", func(f *feed) Pattern { return Pattern{{f.nest(1, lockA, lockB)}, {f.nest(1, lockB, lockA)}} }, Refuted, reason.OneThread},
		{"unheard of", func(f *feed) Pattern { return Pattern{{77}, {78}} }, Unknown, reason.Evicted},
		{"nothing", func(f *feed) Pattern { return nil }, Refuted, reason.NoCycle},
		{"timed", func(f *feed) Pattern {
			a := f.nest(1, lockA, lockB)
			f.add(event.Event{Thread: 2, Op: event.Acquire, Object: lockB})
			b := f.add(event.Event{Thread: 2, Op: event.Acquire, Object: lockA, Flags: event.Timed})
			return Pattern{{a}, {b}}
		}, Predicted, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(tt.run)
			if r.Verdict != tt.verdict || r.Reason.What != tt.reason {
				t.Errorf("%v: %q", r.Verdict, r.Reason)
			}
			if r.Timed != (tt.name == "timed") {
				t.Errorf("timed: %v", r.Timed)
			}
		})
	}
}

// TestForeignRelease: a thread releases a lock that another acquired. The section ends there,
// also before the next section of the thread that acquired it.
func TestForeignRelease(t *testing.T) {
	f := newFeed(Options{})
	f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
	f.add(event.Event{Thread: 1, Op: event.Acquire, Object: lockC})
	f.add(event.Event{Thread: 2, Op: event.Release, Object: lockC})
	f.add(event.Event{Thread: 2, Op: event.Begin})
	a := f.nest(1, lockC, lockA, lockB)
	b := f.nest(2, lockB, lockA)
	if r := f.h.Deadlock(Pattern{{a}, {b}}); r.Verdict != Predicted {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
}

func BenchmarkEvent(b *testing.B) {
	f := newFeed(Options{})
	f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
	b.ReportAllocs()
	for b.Loop() {
		f.nest(1, lockA, lockB)
		f.nest(2, lockA, lockB)
	}
}

func BenchmarkDeadlock(b *testing.B) {
	f := newFeed(Options{})
	f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
	for range 10_000 {
		f.nest(1, lockA, lockC)
		f.nest(2, lockA, lockC)
	}
	x := f.nest(1, lockA, lockB)
	y := f.nest(2, lockB, lockA)
	b.ReportAllocs()
	for b.Loop() {
		if r := f.h.Deadlock(Pattern{{x}, {y}}); r.Verdict != Predicted {
			b.Fatal(r.Reason)
		}
	}
}
