package profile

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestBlame checks who is to blame for waits for conditions and at barriers: who notified, and who arrived last in the same round;
// nobody, if the wait timed out, and for the last one at a barrier.
func TestBlame(t *testing.T) {
	at := uint64(0)
	var events []event.Event
	add := func(op event.Op, thread event.ThreadID, object event.ObjectID, kind event.Kind, flags event.Flags) {
		at += 10
		events = append(events, event.Event{Op: op, Thread: thread, Object: object, Kind: kind, Flags: flags, Time: at})
	}
	add(event.Signal, 3, 1, event.KindCond, 0) // before the wait
	add(event.Wait, 1, 1, event.KindCond, 0)
	add(event.Broadcast, 2, 1, event.KindCond, 0)
	add(event.Wake, 1, 1, event.KindCond, 0)
	add(event.Wait, 1, 1, event.KindCond, 0)
	add(event.Wake, 1, 1, event.KindCond, event.TimedOut)
	add(event.Wait, 1, 1, event.KindCond, 0)
	add(event.Wake, 1, 1, event.KindCond, 0) // nobody notified
	arrive := func(thread event.ThreadID) { add(event.BarrierArrive, thread, 2, event.KindBarrier, 0) }
	depart := func(thread event.ThreadID) { add(event.BarrierDepart, thread, 2, event.KindBarrier, 0) }
	arrive(1)
	arrive(3)
	arrive(2)
	depart(2)
	depart(3)
	arrive(2) // in the next round
	depart(1)
	arrive(1)
	arrive(3)
	depart(3)
	depart(2)
	depart(1)
	got := map[string]int64{}
	for _, s := range written(t, events, Options{}).Sample {
		by := "nobody"
		if l := s.Label[blockerLabel]; len(l) > 0 {
			by = l[0]
		}
		for _, count := range []int{conditionWaits, barrierWaits} {
			if s.Value[count] > 0 {
				got[s.Label["kind"][0]+" "+s.Label["thread"][0]+" by "+by] += s.Value[count]
			}
		}
	}
	want := map[string]int64{
		"condition T1 by T2": 1, "condition T1 by nobody": 2,
		"barrier T1 by T2": 1, "barrier T1 by T3": 1, "barrier T3 by T2": 1, "barrier T2 by T3": 1, "barrier T2 by nobody": 1, "barrier T3 by nobody": 1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
