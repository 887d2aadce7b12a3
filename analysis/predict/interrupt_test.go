package predict

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// orderMatters reports whether two events conflict: accesses of a variable, or acquires of a lock.
func orderMatters(a, b *event.Event) bool {
	if a.Object != b.Object || a.Thread == b.Thread {
		return false
	}
	accesses := a.Op.IsAccess() && b.Op.IsAccess() && (a.Op.IsWrite() || b.Op.IsWrite())
	return accesses || a.Op.IsAcquire() && b.Op.IsAcquire() && (a.Op == event.Acquire || b.Op == event.Acquire)
}

// interruptions returns all questions of Interrupt about a run.
func (m *machine) interruptions() (all []execution.Interruption) {
	for first := range m.out {
		for last := first + 1; last < len(m.out); last++ {
			if m.out[first].Thread != m.out[last].Thread {
				continue
			}
			for from := range m.out {
				if !orderMatters(&m.out[first], &m.out[from]) {
					continue
				}
				for to := from; to < len(m.out); to++ {
					if m.out[to].Thread == m.out[from].Thread && orderMatters(&m.out[to], &m.out[last]) {
						all = append(all, execution.Interruption{First: m.out[first].Seq, From: m.out[from].Seq, To: m.out[to].Seq, Last: m.out[last].Seq})
					}
				}
			}
		}
	}
	return all
}

// interruptible reports by enumeration whether some interleaving shows an interruption: First was executed before From, and To is executed
// or, being a read, comes next, and so does Last.
func interruptible(m *machine, q execution.Interruption, notified bool) bool {
	x := newExplorer(m)
	for wake, sent := range m.match {
		if notified {
			x.need[sent] |= bit(m.lastOf(wake, event.Wait))
		}
	}
	first, from, to, last := int(q.First)-1, int(q.From)-1, int(q.To)-1, int(q.Last)-1
	x.need[from] |= bit(first)
	found := false
	var visit func(s exploredState)
	visit = func(s exploredState) {
		if found || x.seen[s] || s.has(last) {
			return
		}
		x.seen[s] = true
		heads := map[int]bool{}
		for _, i := range x.heads(&s) {
			heads[i] = true
		}
		there := s.has(to) || heads[to] && m.out[to].Op == event.Read
		if e := &m.out[last]; there && heads[last] && (!e.Op.IsAcquire() || len(x.holders(&s, e)) == 0) {
			found = true
			return
		}
		for i := range heads {
			if x.may(&s, i) {
				visit(x.after(s, i))
			}
		}
	}
	visit(exploredState{last: [3]int8{-1, -1, -1}})
	return found
}

// interrupted counts the answers of Interrupt.
type interruptionCount struct{ feasible, preserving, reversal, missed, asked int }

// TestInterruptions compares Interrupt with exhaustive enumeration: nothing is predicted that no interleaving shows, and
// nothing is missed that some interleaving does.
func TestInterruptions(t *testing.T) {
	n := uint64(testtool.Cases(150, 600, 3000))
	for _, full := range []bool{false, true} {
		var count interruptionCount
		for seed := range n {
			c := eventtest.Seeded(seed)
			m := newMachine(c, full)
			for range c.Between(10, 26, "events") {
				m.step(c, eventtest.OneOf(c, m.live, "thread"))
			}
			m.compareInterruptions(t, c, &count)
		}
		t.Logf("full %v: %+v", full, count)
		if count.missed > 0 || count.preserving == 0 || count.reversal == 0 {
			t.Errorf("full %v: %+v", full, count)
		}
	}
}

func (m *machine) compareInterruptions(t *testing.T, c eventtest.Choices, count *interruptionCount) {
	eventtest.Stamp(m.out)
	h := record(m.out, Options{})
	all := m.interruptions()
	for range min(len(all), 25) {
		q := eventtest.OneOf(c, all, "question")
		r := h.Interrupt(q)
		count.asked++
		feasible := r.Verdict == Refuted && interruptible(m, q, true) || r.Verdict == Predicted && interruptible(m, q, false)
		switch {
		case r.Verdict == Unknown:
			t.Fatalf("%+v: %+v\n%v", q, r.Reason, m.out)
		case r.Verdict == Predicted && !feasible:
			t.Fatalf("%+v is predicted, and no interleaving shows it:\n%v", q, m.out)
		case r.Verdict == Refuted && feasible:
			count.missed++
			t.Errorf("%+v can happen, but: %v\n%v", q, r.Reason, m.out)
		case r.Order == finding.OrderReversal:
			count.reversal++
		case r.Verdict == Predicted:
			count.preserving++
		}
		if feasible {
			count.feasible++
		}
	}
}
