package predict

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestSettleDeadlock: the acquires of the evidence can block each other only after a reversal.
// The same threads make the same acquires again, and these can without one.
func TestSettleDeadlock(t *testing.T) {
	f := newFeed(Options{})
	f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
	first := f.nest(1, lockA, lockB)
	f.nest(2, lockA) // the second thread first has a critical section of A
	f.nest(1, lockA, lockB)
	f.nest(1, lockA, lockB)
	late := f.nest(2, lockB, lockA)
	if r := f.h.Deadlock(Pattern{{first}, {late}}); r.Order != finding.OrderReversal {
		t.Fatalf("%v, %s: the first instance alone should not do without reversal", r.Verdict, r.Order)
	}
	x := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Potential, Evidence: []finding.Step{{Seq: first}, {Seq: late}}}
	r := f.h.Settle(&x, nil)
	if r.Verdict != Predicted || x.Confidence != finding.Predicted || x.Order != finding.OrderSyncPreserving {
		t.Fatalf("%v: %s; the finding is %s", r.Verdict, r.Reason, x.Confidence)
	}
	if diff := cmp.Diff([]event.ObjectID{lockB, lockA}, x.Objects); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]event.ThreadID{1, 2}, x.Threads); diff != "" {
		t.Error(diff)
	}
	if e := x.Evidence[0]; e.Seq == first || e.Seq == 0 || e.Blocked || len(e.Held) != 1 || e.Held[0] != lockA {
		t.Errorf("evidence %+v", e)
	}
	if diff := cmp.Diff([]string{"race-free", "guarded-data"}, x.Assumes); diff != "" {
		t.Errorf("a section of A was left out: %s", diff)
	}
}

// TestSettleByStack checks that a deadlock at call stacks of its own is settled for itself, although
// the same threads acquire the same locks elsewhere too and are asked about there with less effort. Only
// if it cannot happen is the finding settled by those other acquires.
func TestSettleByStack(t *testing.T) {
	const early, late = 10, 20
	for _, tt := range []struct {
		name    string
		outer   event.StackID // at which the second nesting acquires the outer lock
		inner   event.StackID // likewise the inner one
		reverse bool          // of the second nesting only a reversal leads to a deadlock
		joined  bool          // the second nesting comes after the other thread
		want    event.StackID // of the inner lock, in the evidence
	}{
		{"the request elsewhere", early, late, false, false, late},
		{"what is held acquired elsewhere", late, early + 1, false, false, early + 1},
		{"by reversal only", early, late, true, false, late},
		{"ordered by a join", early, late, false, true, early + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFeed(Options{})
			nest := func(outer, inner event.StackID) uint64 {
				f.add(event.Event{Thread: 1, Op: event.Acquire, Object: lockA, Stack: outer})
				seq := f.add(event.Event{Thread: 1, Op: event.Acquire, Object: lockB, Stack: inner})
				f.add(event.Event{Thread: 1, Op: event.Release, Object: lockB})
				f.add(event.Event{Thread: 1, Op: event.Release, Object: lockA})
				return seq
			}
			f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
			first := nest(early, early+1)
			var second, other uint64
			if tt.reverse {
				second = nest(tt.outer, tt.inner)
				f.nest(2, lockA)
				nest(early, early+1)
			}
			other = f.nest(2, lockB, lockA)
			if tt.joined {
				f.add(event.Event{Thread: 2, Op: event.End})
				f.add(event.Event{Thread: 1, Op: event.Join, Peer: 2})
			}
			if second == 0 {
				second = nest(tt.outer, tt.inner)
			}
			x := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Potential, Evidence: []finding.Step{{Seq: second}, {Seq: other}}}
			if r := f.h.Settle(&x, nil); r.Verdict != Predicted {
				t.Fatalf("%v: %s", r.Verdict, r.Reason)
			}
			want := second
			if tt.joined {
				want = first
			}
			if e := x.Evidence[0]; e.Stack != tt.want || e.Seq != want {
				t.Errorf("evidence %+v", e)
			}
			if wantOrder := map[bool]finding.Order{false: finding.OrderSyncPreserving, true: finding.OrderReversal}[tt.reverse]; x.Order != wantOrder {
				t.Errorf("order %s", x.Order)
			}
		})
	}
}

// TestSettleUnexplained checks that a race behind a read of a value that no recorded write left is
// found, in the order of the run and in another, and that the read is named; a read of a recorded
// value is not. An edge that must be kept refutes both.
func TestSettleUnexplained(t *testing.T) {
	const valued = event.HasValue
	for _, tt := range []struct {
		name        string
		value       uint64 // that is read; 1 was written
		swap, join  bool
		unexplained int
		verdict     Verdict
	}{
		{"recorded", 1, false, false, 0, Predicted},
		{"not recorded", 2, false, false, 1, Predicted},
		{"recorded, sections change places", 1, true, false, 0, Predicted},
		{"not recorded, sections change places", 2, true, false, 1, Predicted},
		{"not recorded, and joined", 2, false, true, 0, Refuted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFeed(Options{})
			f.add(event.Event{Thread: 1, Op: event.Write, Object: varY, Flags: valued, Value: 1})
			f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
			f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 3})
			var a, b uint64
			if tt.swap { // the write of the second thread must come within its section, that of the third behind
				f.add(event.Event{Thread: 2, Op: event.Acquire, Object: lockA})
				a = f.add(event.Event{Thread: 2, Op: event.Write, Object: varX})
				f.add(event.Event{Thread: 2, Op: event.Release, Object: lockA})
			} else {
				a = f.add(event.Event{Thread: 2, Op: event.Write, Object: varX})
			}
			f.add(event.Event{Thread: 2, Op: event.End})
			if tt.join {
				f.add(event.Event{Thread: 3, Op: event.Join, Peer: 2})
			}
			f.nest(3, lockA)
			f.add(event.Event{Thread: 3, Op: event.Read, Object: varY, Flags: valued, Value: tt.value})
			b = f.add(event.Event{Thread: 3, Op: event.Write, Object: varX})
			x := finding.Finding{Kind: finding.Race, Confidence: finding.Potential, Objects: []event.ObjectID{varX}, Evidence: []finding.Step{{Seq: a}, {Seq: b}}}
			r := f.h.Settle(&x, nil)
			if r.Verdict != tt.verdict || len(x.Unexplained) != tt.unexplained {
				t.Fatalf("%v: %s, with %d unexplained reads", r.Verdict, r.Reason, len(x.Unexplained))
			}
			if tt.unexplained > 0 && (x.Unexplained[0].Op != event.Read || x.Unexplained[0].Object != varY) {
				t.Errorf("%+v", x.Unexplained)
			}
		})
	}
}

func TestSettleRace(t *testing.T) {
	f := newFeed(Options{})
	f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
	a := f.add(event.Event{Thread: 1, Op: event.Write, Object: varX})
	b := f.add(event.Event{Thread: 2, Op: event.Read, Object: varX})
	f.add(event.Event{Thread: 2, Op: event.End})
	f.add(event.Event{Thread: 1, Op: event.Join, Peer: 2})
	c := f.add(event.Event{Thread: 1, Op: event.Write, Object: varX})
	x := finding.Finding{Kind: finding.Race, Confidence: finding.Potential, Objects: []event.ObjectID{varX}, Evidence: []finding.Step{{Seq: a}, {Seq: b}}}
	if r := f.h.Settle(&x, nil); r.Verdict != Predicted || len(x.Objects) != 1 {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
	y := finding.Finding{Kind: finding.Race, Confidence: finding.Potential, Evidence: []finding.Step{{Seq: b}, {Seq: c}}}
	if r := f.h.Settle(&y, nil); r.Verdict != Refuted || y.Confidence != finding.Potential || y.Reason.What != reason.Ordered {
		t.Errorf("%v: %+v", r.Verdict, y.Reason)
	}
	z := finding.Finding{Kind: finding.Misuse, Reason: reason.Noted("as it was")}
	if r := f.h.Settle(&z, nil); r.Verdict != Unknown || z.Reason.Words != "as it was" {
		t.Errorf("%v: %q", r.Verdict, z.Reason)
	}
	if r := f.h.Race(a, a); r.Verdict != Refuted || r.Reason.What != reason.OneThread {
		t.Errorf("an access races with itself: %v %s", r.Verdict, r.Reason)
	}
}
