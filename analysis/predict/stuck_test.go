package predict

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestStuckIsStuck asks, for random runs, about events that come later than in the run. The checker
// refuses no schedule, each can happen by the definitions of the rules, and none of the threads
// that it leaves waiting goes on in any schedule of the events that are left.
func TestStuckIsStuck(t *testing.T) {
	const runs = 16000
	found := map[event.Op]int{}
	for seed := range uint64(runs) {
		m := small(seed, true)
		eventtest.Stamp(m.out)
		h := record(m.out, Options{})
		for range h.Kept { // as the engine does
			break
		}
		r := rand.New(rand.NewPCG(seed, 1))
		for range 8 {
			later := []uint64{1 + r.Uint64N(uint64(len(m.out)))}
			if within := m.withinOnce(); len(within) > 0 && r.IntN(2) == 0 {
				later[0] = within[r.IntN(len(within))]
			}
			if r.IntN(2) == 0 {
				later = append(later, 1+r.Uint64N(uint64(len(m.out))))
			}
			res := h.Stuck(later, event.ThreadID(r.Uint64N(3)*r.Uint64N(2)), 1+r.Uint64N(uint64(len(m.out))), nil)
			if res.Verdict == Unknown {
				t.Fatalf("seed %d, %v: %s", seed, later, res.Reason)
			}
			if res.Verdict == Predicted {
				m.verifyStuck(t, seed, &res, found)
			}
		}
		if w := h.Witnesses(); w.Refused > 0 {
			t.Fatalf("seed %d: the checker refused %d schedules", seed, w.Refused)
		}
	}
	t.Log(found)
	for _, op := range []event.Op{event.Acquire, event.SemWait, event.Join, event.BarrierArrive, event.OnceEnter, event.AcquireAgain} {
		if found[op] == 0 {
			t.Errorf("no thread was left waiting at %s: the test shows nothing of it", op)
		}
	}
}

// withinOnce returns the Seq of the acquires during the initialisation.
func (m *machine) withinOnce() (all []uint64) {
	within := false
	for i := range m.out {
		switch e := &m.out[i]; {
		case e.Object == theOnce:
			within = e.Op == event.OnceEnter || within && e.Thread != m.within
		case within && e.Thread == m.within && e.Op.IsAcquire():
			all = append(all, e.Seq)
		}
	}
	return all
}

// verifyStuck checks a prediction of Stuck by the definitions.
func (m *machine) verifyStuck(t *testing.T, seed uint64, r *Result, found map[event.Op]int) {
	t.Helper()
	n := len(r.Chosen)
	seq := indices(r.Witness[:len(r.Witness)-n])
	if !m.feasible(seq) {
		t.Fatalf("seed %d: predicted, but %v cannot happen", seed, seq)
	}
	var waits []int
	for k, s := range r.Chosen {
		waits = append(waits, int(s)-1)
		found[r.Witness[len(seq)+k].Op]++
	}
	for _, i := range waits {
		if next := m.nextOf(seq, m.out[i].Thread); next != i {
			t.Fatalf("seed %d: thread %d goes on with %d, not with %d", seed, m.out[i].Thread, next, i)
		}
	}
	if i := m.goesOn(seq, waits, map[string]bool{}); i >= 0 {
		t.Fatalf("seed %d: predicted that %v wait for ever after %v, but %d can happen", seed, waits, seq, i)
	}
}

// goesOn returns one of the events that can happen in some schedule after seq, or -1.
func (m *machine) goesOn(seq, events []int, seen map[string]bool) int {
	done := make([]byte, len(m.out))
	for _, i := range seq {
		done[i] = 1
	}
	if seen[string(done)] || len(seen) > 300 {
		return -1
	}
	seen[string(done)] = true
	for _, i := range m.heads(seq) {
		if m.initialises(seq, i) && slices.Contains(events, i) {
			return i
		}
		if !m.may(seq, i) || m.behindWriter(seq, i) {
			continue
		}
		if slices.Contains(events, i) {
			return i
		}
		if found := m.goesOn(append(slices.Clip(seq), i), events, seen); found >= 0 {
			return found
		}
	}
	return -1
}

// TestSetStuck checks the finding that a result of Stuck makes.
func TestSetStuck(t *testing.T) {
	run := []event.Event{
		{Thread: 1, Op: event.Fork, Peer: 2},
		{Thread: 2, Op: event.Acquire, Object: lockA},
		{Thread: 2, Op: event.Release, Object: lockA},
		{Thread: 2, Op: event.End},
		{Thread: 1, Op: event.Acquire, Object: lockA},
		{Thread: 1, Op: event.Join, Peer: 2},
		{Thread: 1, Op: event.Release, Object: lockA},
	}
	for i := range run {
		run[i].Seq = uint64(i + 1)
	}
	eventtest.Stamp(run)
	h := record(run, Options{})
	r := h.Stuck([]uint64{2}, 0, 0, nil)
	if r.Verdict != Predicted || r.Reordered != [2]uint64{2, 5} || r.Timed {
		t.Fatalf("%+v", r)
	}
	f := finding.Finding{Kind: finding.Deadlock}
	h.SetStuck(&f, &r)
	if len(f.Evidence) != 2 || f.Evidence[0].Seq != 6 || f.Evidence[1].Seq != 2 || f.Evidence[0].Op != event.Join || !slices.Equal(f.Evidence[0].Held, []event.ObjectID{lockA}) {
		t.Errorf("evidence %+v", f.Evidence)
	}
	if h.ThreadOf(6) != 1 || h.ThreadOf(99) != 0 {
		t.Error("wrong thread of an event")
	}
	if r := h.Stuck([]uint64{4}, 0, 0, nil); r.Verdict != Refuted {
		t.Errorf("a thread that ends later: %+v", r)
	}
	if r := h.Stuck([]uint64{99}, 0, 0, nil); r.Verdict != Unknown || !r.Evicted() {
		t.Errorf("an event that was not kept: %+v", r)
	}
	if r := record(run, Options{Reversals: -1}).Stuck([]uint64{2}, 0, 0, nil); r.Verdict != Unknown {
		t.Errorf("without reversals: %+v", r)
	}
}
