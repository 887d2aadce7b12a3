package predict

import (
	"math/rand/v2"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// manySections is a random run of three threads with many critical sections that only read, which are discarded first,
// and a few accesses that may race.
func manySections(r *rand.Rand, n int) []event.Event {
	run := []event.Event{{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3}}
	add := func(t event.ThreadID, op event.Op, o event.ObjectID) {
		kind := event.KindMutex
		if op.IsAccess() {
			kind = event.KindVariable
		}
		run = append(run, event.Event{Thread: t, Op: op, Object: o, Kind: kind, Stack: event.StackID(len(run) + 1)})
	}
	for len(run) < n {
		t, lock := event.ThreadID(1+r.IntN(3)), event.ObjectID(1+r.IntN(2))
		variable := event.ObjectID(11 + r.IntN(3))
		switch r.IntN(8) {
		case 0:
			add(t, event.Write, variable)
		case 1:
			add(t, event.Acquire, lock)
			add(t, event.Write, variable)
			add(t, event.Release, lock)
		default:
			add(t, event.Acquire, lock)
			if r.IntN(4) == 0 {
				add(t, event.Read, variable)
			}
			add(t, event.Release, lock)
		}
	}
	for i := range run {
		run[i].Seq = uint64(i + 1)
	}
	eventtest.Stamp(run)
	return run
}

// TestReversalBeyondDiscardedSections: a schedule with reversals that begins as the run does, with sections that were
// discarded, is one that the checker accepts, whether the log has still their events or not.
func TestReversalBeyondDiscardedSections(t *testing.T) {
	reversals := 0
	for seed := range uint64(40) {
		run := manySections(rand.New(rand.NewPCG(seed, 0)), 120)
		h := record(run, Options{Sections: 2, Reversals: 1 << 30})
		for i := range run {
			for j := range i {
				if a, b := &run[j], &run[i]; a.Thread != b.Thread && conflicting(a, b) {
					if r := h.Race(a.Seq, b.Seq); r.Verdict == Predicted && r.Order == "reversal" {
						reversals++
					}
				}
			}
		}
		if h.Thinned() == 0 {
			t.Fatalf("seed %d: nothing was discarded", seed)
		}
		if w := h.Witnesses(); w.Refused > 0 {
			t.Errorf("seed %d: the checker refused %d of %d schedules", seed, w.Refused, w.Checked)
		}
	}
	if reversals == 0 {
		t.Error("no schedule has reversals")
	}
}
