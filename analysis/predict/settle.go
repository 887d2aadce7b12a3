package predict

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Settle decides a potential deadlock or race. Candidates are choices of Seq, one an
// Evidence step and in that order; none means what Evidence says. For a deadlock
// each choice stands for all kept acquires of the same threads with the same
// locks held. If one is predicted, the finding becomes so, with witness and
// assumptions, and its Evidence, Objects and Threads are those of the witness;
// else it keeps its confidence and, if it has no Reason yet, is given one. Schedules
// that keep the order of critical sections come first, whatever the choice. The
// answer is the Result of the choice that decided.
func (h *History) Settle(f *finding.Finding, candidates [][]uint64) Result {
	if len(candidates) == 0 {
		candidates = [][]uint64{evidenced(f)}
	}
	asked := make([]*question, len(candidates))
	answers := make([]Result, len(candidates))
	for i, c := range candidates {
		asked[i] = h.about(f.Kind, c)
		if answers[i] = asked[i].preserving(); answers[i].Verdict == Predicted {
			h.become(f, &answers[i])
			return answers[i]
		}
	}
	best := refuted(inclusion)
	for i, q := range asked {
		r := q.reverse(answers[i])
		if r.Verdict == Predicted {
			h.become(f, &r)
			return r
		}
		if i == 0 || r.Verdict == Unknown {
			best = r
		}
	}
	if best.Reason == exhausted {
		h.unsettled++
	}
	if f.Reason == "" {
		f.Reason = best.Reason
	}
	return best
}

// Forgotten says that the answer is unknown for the length of the history alone.
func (r *Result) Forgotten() bool { return r.Verdict == Unknown && r.Reason == forgotten }

func evidenced(f *finding.Finding) []uint64 {
	var out []uint64
	for _, s := range f.Evidence {
		out = append(out, s.Seq)
	}
	return out
}

// about is the question that a choice of Seq puts.
func (h *History) about(kind finding.Kind, choice []uint64) *question {
	switch {
	case kind == finding.Deadlock:
		return h.ask(kind, h.around(choice))
	case kind == finding.Race && len(choice) == 2:
		return h.race(choice[0], choice[1])
	}
	return &question{h: h, given: unknown("nothing predicts this kind of finding")}
}

// become makes the finding what the witness shows.
func (h *History) become(f *finding.Finding, r *Result) {
	f.Confidence, f.Order = finding.Predicted, r.Order
	f.Witness, f.Assumes = r.Witness, r.Assumes
	f.Evidence, f.Threads = nil, nil
	if f.Kind == finding.Deadlock {
		f.Objects = nil
	}
	last := r.Witness[len(r.Witness)-len(r.Chosen):]
	for i, seq := range r.Chosen {
		s := last[i]
		if e := h.find(seq); e != nil {
			s.Seq, s.Time, s.Blocked = e.Seq, e.Time, false
		}
		f.Evidence = append(f.Evidence, s)
		f.Threads = append(f.Threads, s.Thread)
		if f.Kind == finding.Deadlock {
			f.Objects = append(f.Objects, s.Object)
		}
	}
}

// around widens a choice to a pattern: all kept acquires that differ from the
// chosen ones only in when they were.
func (h *History) around(choice []uint64) Pattern {
	h.update()
	h.tidy()
	p := make(Pattern, len(choice))
	for i, seq := range choice {
		if c := h.find(seq); c != nil && c.Op.IsAcquire() {
			p[i] = h.likewise(c)
		} else {
			p[i] = []uint64{seq}
		}
	}
	return p
}

// likewise is the kept acquires of the same lock by the same thread, with the same
// locks held, c among them.
func (h *History) likewise(c *event.Event) []uint64 {
	var out []uint64
	held := h.heldBefore(c.Slot, c.Epoch)
	for _, x := range h.lockSlot(c.Slot, c.Object).sections {
		e := h.entry(x.seq)
		same := e != nil && e.Thread == c.Thread && e.Op == c.Op
		if same && (e.Seq == c.Seq || slices.Equal(held, h.heldBefore(e.Slot, e.Epoch))) {
			out = append(out, e.Seq)
		}
	}
	return out
}

// heldBefore is the locks that the thread of an acquire held, sorted.
func (h *History) heldBefore(slot uint32, acquire event.Epoch) []finding.Mode {
	var out []finding.Mode
	for x := range h.slots[slot].heldAt(acquire - 1) {
		out = append(out, finding.Mode{Lock: x.lock, Shared: x.shared})
	}
	slices.SortFunc(out, func(x, y finding.Mode) int { return cmp.Compare(x.Lock, y.Lock) })
	return out
}
