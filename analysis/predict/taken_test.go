package predict

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestTakenIsStuck asks, for random runs, about each signal that ended a wait. The checker refuses no
// schedule, each can happen by the definitions of the rules, and in it another thread waits when the
// signal is sent, and no other notification is left for the thread that it woke in the run.
func TestTakenIsStuck(t *testing.T) {
	const runs = 4000
	found := 0
	for seed := range uint64(runs) {
		m := signalled(seed)
		eventtest.Stamp(m.out)
		h := record(m.out, Options{})
		for range h.Kept { // as the engine does
			break
		}
		for wake, sent := range m.match {
			if m.out[sent].Op != event.Signal {
				continue
			}
			r := h.StuckByTaken(uint64(sent)+1, uint64(wake)+1, nil)
			if r.Verdict != Predicted {
				continue
			}
			found++
			seq := indices(r.Witness[:len(r.Witness)-len(r.Chosen)])
			if !m.feasible(seq) {
				t.Fatalf("seed %d: predicted, but %v cannot happen", seed, seq)
			}
			if !slices.Contains(r.Chosen, uint64(wake)+1) || !m.taken(seq, wake, sent) {
				t.Fatalf("seed %d: %d does not wait for ever after %v", seed, wake, seq)
			}
		}
		if w := h.Witnesses(); w.Refused > 0 {
			t.Fatalf("seed %d: the checker refused %d schedules", seed, w.Refused)
		}
	}
	if found < runs/50 {
		t.Errorf("%d signals can be taken: the test shows nothing", found)
	}
}

// signalled returns a run of threads that use a lock, wait on a condition and signal it.
func signalled(seed uint64) *machine {
	c := eventtest.Seeded(seed)
	m := newMachine(c, false)
	m.fork(1)
	for range c.Between(8, 24, "events") {
		id := eventtest.OneOf(c, m.live, "thread")
		k := c.Between(0, 6, "what")
		switch {
		case m.awaiting[id]:
			if since := m.asleep[id]; slices.ContainsFunc(m.sent, func(j int) bool { return j > since }) {
				m.wake(c, id)
			}
		case k < 2 && id != 1:
			m.emit(event.Event{Thread: id, Op: event.Wait, Object: theCond})
			m.asleep[id], m.awaiting[id] = len(m.out)-1, true
		case k < 4 && len(m.awaiting) > 0:
			op := event.Signal
			if c.Between(0, 7, "all") == 0 {
				op = event.Broadcast
			}
			m.sent = append(m.sent, m.emit(event.Event{Thread: id, Op: op, Object: theCond}))
		default:
			m.lock(c, id, lockA)
		}
	}
	return m
}

// taken reports whether after a sequence the thread of a wake sleeps, another thread could have taken the
// signal that ended its wait in the run, and all other notifications since were for others.
func (m *machine) taken(seq []int, wake, sent int) bool {
	since := slices.Index(seq, m.lastOf(wake, event.Wait))
	at := slices.Index(seq, sent)
	if since < 0 || at < since || slices.Contains(seq, wake) {
		return false
	}
	other := false
	for w, by := range m.match {
		began := slices.Index(seq, m.lastOf(w, event.Wait))
		other = other || w != wake && by != sent && began >= 0 && began < at && (slices.Index(seq, by) < 0 || slices.Index(seq, by) > at)
	}
	for _, i := range seq[since:] {
		ended := func() bool {
			for w, by := range m.match {
				if by == i && slices.Contains(seq, w) {
					return true
				}
			}
			return false
		}
		if i != sent && (m.out[i].Op == event.Broadcast || m.out[i].Op == event.Signal && !ended()) {
			return false
		}
	}
	return other
}
