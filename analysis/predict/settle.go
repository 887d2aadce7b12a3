package predict

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Settle takes a potential deadlock or race to a verdict. Each candidate is a list of Seq, one
// for each step of Evidence and in that order; without candidates, Evidence itself is the only
// one. For a deadlock a candidate stands for all kept acquires of the same threads with the
// same locks held, first for those at the same call stacks, which show this finding and not
// another one of the same locks. If a candidate is predicted, the finding becomes Predicted, with
// witness and assumptions, and its Evidence, Objects and Threads become those of the witness.
// Otherwise the finding keeps its confidence, and gets a Reason if it has none yet. Schedules
// that keep the order of critical sections are tried for all candidates first, and last those that
// execute reads whose values no recorded write left (Finding.Unexplained). Settle returns the Result
// of the candidate that decided.
func (h *History) Settle(f *finding.Finding, candidates [][]uint64) Result {
	if h.done() {
		return h.leave(f)
	}
	if len(candidates) == 0 {
		candidates = [][]uint64{evidenceSeqs(f)}
	}
	if f.Kind == finding.Deadlock {
		return h.settleDeadlock(f, candidates)
	}
	asked := make([]*question, len(candidates))
	for i, c := range candidates {
		asked[i] = h.questionAbout(f.Kind, c)
	}
	return h.settle(f, asked)
}

// settleDeadlock is Settle for a deadlock.
func (h *History) settleDeadlock(f *finding.Finding, candidates [][]uint64) Result {
	exact := h.patternsOf(candidates, true)
	r := h.decide(f, h.questionsAbout(exact))
	if r.Verdict != Predicted {
		wide := slices.DeleteFunc(h.patternsOf(candidates, false), func(p Pattern) bool { return containsPattern(exact, p) })
		if w := h.decide(f, h.questionsAbout(wide)); w.Verdict == Predicted {
			r = w
		}
	}
	h.conclude(f, &r)
	return r
}

// patternsOf returns the different patterns that the candidates for a deadlock stand for.
func (h *History) patternsOf(candidates [][]uint64, exact bool) (all []Pattern) {
	for _, c := range candidates {
		if p := h.patternOf(c, exact); !containsPattern(all, p) {
			all = append(all, p)
		}
	}
	return all
}

func containsPattern(all []Pattern, p Pattern) bool {
	return slices.ContainsFunc(all, func(o Pattern) bool { return slices.EqualFunc(o, p, slices.Equal) })
}

func (h *History) questionsAbout(patterns []Pattern) []*question {
	out := make([]*question, len(patterns))
	for i, p := range patterns {
		out[i] = h.ask(finding.Deadlock, p)
	}
	return out
}

// SettleRace is Settle for a race of which each candidate, the Seq of two accesses, stands for all
// kept accesses of the same two threads that differ from these only in time, value and locks held.
// The two accesses of Evidence are tried first.
func (h *History) SettleRace(f *finding.Finding, candidates [][]uint64) Result {
	if h.done() {
		return h.leave(f)
	}
	return h.settle(f, h.questionsAboutRace(f, candidates))
}

// done reports whether the time for questions is over.
func (h *History) done() bool { return h.opt.Done != nil && h.opt.Done() }

// leave returns the result of a question that is not searched, and concludes it.
func (h *History) leave(f *finding.Finding) Result {
	r := unknown(reason.NotSearched)
	h.conclude(f, &r)
	return r
}

// PredictRace is SettleRace without the search for reversals. Where it predicts nothing, the
// finding does not change, and another question may be asked later.
func (h *History) PredictRace(f *finding.Finding, candidates [][]uint64) bool {
	for _, q := range h.questionsAboutRace(f, candidates) {
		if h.done() {
			return false
		}
		if r := q.preserving(); r.Verdict == Predicted {
			h.setPredicted(f, &r)
			return true
		}
	}
	return false
}

// questionsAboutRace returns the questions of SettleRace.
func (h *History) questionsAboutRace(f *finding.Finding, candidates [][]uint64) []*question {
	exact := h.questionAbout(finding.Race, evidenceSeqs(f))
	asked := []*question{exact}
	for _, c := range candidates {
		q := h.ask(finding.Race, Pattern{h.equivalentAccesses(c[0]), h.equivalentAccesses(c[1])})
		if len(q.sides[0])+len(q.sides[1]) > 2 || !slices.EqualFunc(q.sides, exact.sides, slices.Equal) {
			asked = append(asked, q)
		}
	}
	return asked
}

// settle asks the questions about a finding, as Settle describes.
func (h *History) settle(f *finding.Finding, asked []*question) Result {
	r := h.decide(f, asked)
	h.conclude(f, &r)
	return r
}

// conclude counts a finding that was not settled, and sets its Reason, unless it is predicted.
func (h *History) conclude(f *finding.Finding, r *Result) {
	if r.Verdict == Predicted {
		return
	}
	if r.Reason.What == reason.Exhausted {
		h.unsettled++
	}
	if !f.Reason.Given() {
		f.Reason = r.Reason
	}
}

// decide asks the questions about a finding. If one is answered by a prediction, the finding becomes
// Predicted.
func (h *History) decide(f *finding.Finding, asked []*question) Result {
	r := h.search(f, asked)
	if r.Verdict != Predicted && h.done() {
		return unknown(reason.NotSearched)
	}
	return r
}

// search is decide, which may end too early where the time for questions is over.
func (h *History) search(f *finding.Finding, asked []*question) Result {
	answers := make([]Result, len(asked))
	for i := range asked {
		if h.done() {
			return Result{}
		}
		if answers[i] = asked[i].preserving(); answers[i].Verdict == Predicted {
			h.setPredicted(f, &answers[i])
			return answers[i]
		}
	}
	best := refuted(reason.Inclusion)
	for i, q := range asked {
		if h.done() {
			return Result{}
		}
		r := q.reverse(answers[i])
		if r.Verdict == Predicted {
			h.setPredicted(f, &r)
			return r
		}
		if i == 0 || r.Verdict == Unknown || best.Reason.What == reason.Ordered {
			best = r
		}
	}
	for _, q := range asked {
		if r := q.leniently(); r.Verdict == Predicted {
			h.setPredicted(f, &r)
			return r
		}
	}
	return best
}

// leniently answers a question again, if reads stood in the way whose values no recorded write left:
// those may be executed.
func (q *question) leniently() Result {
	if !q.unexplained || q.given.Reason.Given() {
		return q.given
	}
	again := q.h.ask(q.kind, q.sides)
	again.lenient = true
	return again.answer()
}

// Ordered reports whether the answer is that of any choice of instances one comes before another in
// every schedule.
func (r *Result) Ordered() bool { return r.Verdict == Refuted && r.Reason.What == reason.Ordered }

// NotSearched reports whether the time for questions was over before all schedules were searched.
func (r *Result) NotSearched() bool {
	return r.Verdict == Unknown && r.Reason.What == reason.NotSearched
}

// Evicted reports whether the answer is unknown only because events were evicted.
func (r *Result) Evicted() bool { return r.Verdict == Unknown && r.Reason.What == reason.Evicted }

// evidenceSeqs returns the Seq of each step of the finding's Evidence.
func evidenceSeqs(f *finding.Finding) []uint64 {
	var out []uint64
	for _, s := range f.Evidence {
		out = append(out, s.Seq)
	}
	return out
}

// questionAbout returns the question about one candidate that is no deadlock.
func (h *History) questionAbout(kind finding.Kind, choice []uint64) *question {
	if kind == finding.Race && len(choice) == 2 {
		return h.race(choice[0], choice[1])
	}
	return &question{h: h, given: unknown(reason.NoSearch)}
}

// setPredicted makes the finding Predicted, as the witness shows it.
func (h *History) setPredicted(f *finding.Finding, r *Result) {
	f.Confidence, f.Order = finding.Predicted, r.Order
	f.Witness, f.Assumes, f.Spans, f.Moved, f.MovedUnknown, f.Unexplained = r.Witness, r.Assumes, r.Spans, r.Moved, r.MovedUnknown, nil
	for _, seq := range r.Unexplained {
		if x := h.entry(seq); x != nil {
			f.Unexplained = append(f.Unexplained, x.Step())
		}
	}
	f.OtherValues = r.OtherValues
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
		if f.Kind == finding.Deadlock && s.Object != 0 {
			f.Objects = append(f.Objects, s.Object)
		}
	}
}

// patternOf returns the pattern that a candidate stands for: all kept acquires that differ from
// the chosen ones only in their time or, unless exact, in their call stacks.
func (h *History) patternOf(choice []uint64, exact bool) Pattern {
	h.update()
	h.removeStale()
	p := make(Pattern, len(choice))
	var before *event.Event // of the side before: it requests what this one holds
	if n := len(choice); n > 0 {
		before = h.find(choice[n-1])
	}
	for i, seq := range choice {
		c := h.find(seq)
		switch {
		case c == nil || !c.Op.IsAcquire():
			p[i] = []uint64{seq}
		case exact && before != nil:
			p[i] = h.sameAcquires(c, before.Object)
		default:
			p[i] = h.equivalentAcquires(c)
		}
		before = c
	}
	return p
}

// sameAcquires returns those of equivalentAcquires at the same call stack, with the lock that blocks
// the other side acquired at the same call stack too.
func (h *History) sameAcquires(c *event.Event, blocking event.ObjectID) []uint64 {
	at := h.acquiredAt(c.Slot, c.Epoch, blocking)
	return h.acquiresLike(c, func(e *kept.Event) bool { return e.Stack == c.Stack && h.acquiredAt(e.Slot, e.Epoch, blocking) == at })
}

// acquiredAt returns the call stack at which a lock was acquired that is held in a slot before the
// acquire at that epoch; 0: it is not held.
func (h *History) acquiredAt(slot uint32, acquire event.Epoch, lock event.ObjectID) event.StackID {
	for x := range h.slots[slot].heldAt(acquire - 1) {
		if x.lock == lock {
			if e := h.entry(x.seq); e != nil {
				return e.Stack
			}
		}
	}
	return 0
}

// equivalentAcquires returns the Seq of the kept acquires of the same lock by the same thread, with
// the same locks held; c is among them.
func (h *History) equivalentAcquires(c *event.Event) []uint64 {
	return h.acquiresLike(c, func(*kept.Event) bool { return true })
}

// acquiresLike returns those of equivalentAcquires that match.
func (h *History) acquiresLike(c *event.Event, match func(*kept.Event) bool) []uint64 {
	var out []uint64
	held := h.heldBefore(c.Slot, c.Epoch)
	for _, x := range h.lockSlot(c.Slot, c.Object).sections {
		e := h.entry(x.seq)
		same := e != nil && e.Thread == c.Thread && e.Op == c.Op
		if same && (e.Seq == c.Seq || match(e) && slices.Equal(held, h.heldBefore(e.Slot, e.Epoch))) {
			out = append(out, e.Seq)
		}
	}
	return out
}

// accessClass identifies accesses that differ only in time, value and locks held.
type accessClass struct {
	object event.ObjectID
	thread event.ThreadID
	stack  event.StackID
	op     event.Op
	atomic event.Flags
}

func classOf(x *kept.Event) accessClass {
	return accessClass{x.Object, x.Thread, x.Stack, x.Op, x.Flags & (event.Atomic | event.PerhapsAtomic)}
}

// equivalentAccesses returns the Seq of the kept accesses of the class of one of them, in ascending
// order.
func (h *History) equivalentAccesses(seq uint64) []uint64 {
	x := h.entry(seq)
	if x == nil || !x.Op.IsAccess() || h.discarded(x) {
		return []uint64{seq}
	}
	d := h.ofLog()
	if d.accesses == nil {
		d.accesses = h.classify()
	}
	return d.accesses[classOf(x)]
}

// classify returns the Seq of all kept accesses, by class.
func (h *History) classify() map[accessClass][]uint64 {
	out := map[accessClass][]uint64{}
	for i := range h.log {
		if x := &h.log[i]; x.Op.IsAccess() && !h.discarded(x) {
			out[classOf(x)] = append(out[classOf(x)], x.Seq)
		}
	}
	return out
}

// heldBefore returns the locks that are held in a slot before the acquire at that epoch,
// sorted by lock.
func (h *History) heldBefore(slot uint32, acquire event.Epoch) []finding.Mode {
	var out []finding.Mode
	for x := range h.slots[slot].heldAt(acquire - 1) {
		out = append(out, finding.Mode{Lock: x.lock, Shared: x.shared})
	}
	slices.SortFunc(out, func(x, y finding.Mode) int { return cmp.Compare(x.Lock, y.Lock) })
	return out
}
