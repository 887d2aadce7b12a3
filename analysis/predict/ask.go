package predict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Deadlock finds out whether some acquires of the pattern, one a side, can block each other.
// It may be called during the run or after it; the sooner after the events, the fewer of them
// were evicted. The history must have got the events before.
func (h *History) Deadlock(p Pattern) Result {
	return h.ask(finding.Deadlock, p).answer()
}

// Race finds out whether the two accesses, given by Seq, can be enabled at once. As for
// Deadlock, the history must have got the events before.
func (h *History) Race(a, b uint64) Result {
	return h.race(a, b).answer()
}

func (h *History) race(a, b uint64) *question {
	q := h.ask(finding.Race, Pattern{{a}, {b}})
	if x, y := h.find(a), h.find(b); x != nil && y != nil && !conflicting(x, y) {
		q.given = refuted(reason.NoConflict)
	}
	return q
}

func (h *History) ask(kind finding.Kind, p Pattern) *question {
	n := len(p)
	return &question{kind: kind, h: h, sides: p, at: make([]int, n), tries: make([]int, n), chosen: make([]*event.Event, n)}
}

// answer searches for a schedule that keeps the order of critical sections, and if there is
// none, for any other.
func (q *question) answer() Result {
	r := q.preserving()
	if r.Verdict != Predicted {
		r = q.reverse(r)
	}
	return r
}

// preserving returns the result of the search for a sync-preserving schedule.
func (q *question) preserving() Result {
	if q.given.Reason.Given() {
		return q.given
	}
	if q.h.byValue {
		return refuted(reason.Inclusion) // the closure does not know which writes leave the values that are read
	}
	q.c = q.h.start()
	if r := q.search(); r.Verdict != Predicted {
		return r
	}
	return q.projected()
}

// conflicting reports whether the accesses could race at all.
func conflicting(a, b *event.Event) bool {
	return a.Object == b.Object && a.Op.IsAccess() && b.Op.IsAccess() && (a.Op.IsWrite() || b.Op.IsWrite()) && !event.BothAtomic(a.Flags, b.Flags)
}

// question is the search for instances (acquires or accesses), one a side, that are outside
// the closure of the events that must come before them.
type question struct {
	kind   finding.Kind
	h      *History
	c      *closure
	sides  Pattern
	at     []int          // by side: index of the instance that is tried
	chosen []*event.Event // by side: that instance
	missed bool           // an instance was evicted
	tries  []int          // by side: number of instances that are trylocks, which do not block
	given  Result         // the answer, if it has a Reason
	// lenient executes reads whose source is not known; unexplained reports that without it such a
	// read stood in the way.
	lenient     bool
	unexplained bool
	taken       uint64                  // the Seq of a signal that another thread than in the run may have taken; 0: none
	between     *execution.Interruption // what the schedule of a block shows; nil: it is of no block
}

func (q *question) search() Result {
	if q.h.blind {
		return unknown(reason.Evicted)
	}
	for {
		for i := range q.sides {
			if !q.pick(i) {
				return q.failure(i)
			}
			q.c.before(q.chosen[i])
		}
		if q.sameThread() {
			return refuted(reason.OneThread)
		}
		if !q.c.close() {
			return q.negative(reason.Unreleased)
		}
		if q.advance() {
			continue
		}
		if q.kind == finding.Deadlock && !q.isCycle() {
			return q.negative(reason.NoCycle)
		}
		return Result{Verdict: Predicted}
	}
}

// isCycle reports whether the chosen acquires form a cycle: each side requests a lock that the
// next one holds in a mode that blocks it.
func (q *question) isCycle() bool {
	for i, e := range q.chosen {
		by := q.chosen[(i+1)%len(q.chosen)]
		blocks := func(x *section) bool { return x.lock == e.Object && (e.Op == event.Acquire || !x.shared) }
		held := false
		for x := range q.c.held(by.Slot) {
			held = held || (blocks(x) && x.thread == by.Thread)
		}
		if !held {
			return false
		}
	}
	return len(q.chosen) > 1
}

// pick chooses the side's next instance that is not in the closure and could block. It reports
// whether there is one.
func (q *question) pick(i int) bool {
	for ; q.at[i] < len(q.sides[i]); q.at[i]++ {
		e := q.h.find(q.sides[i][q.at[i]])
		switch {
		case e == nil:
			q.missed = true
		case e.Flags&event.Try != 0 && e.Op.IsAcquire():
			q.tries[i]++
		case !q.c.has(e):
			q.chosen[i] = e
			return true
		}
	}
	return false
}

// advance skips the chosen instances that the closure now contains. It reports whether there
// were any.
func (q *question) advance() bool {
	moved := false
	for i, e := range q.chosen {
		if q.c.has(e) {
			q.at[i]++
			moved = true
		}
	}
	return moved
}

func (q *question) sameThread() bool {
	for i, e := range q.chosen {
		if slices.ContainsFunc(q.chosen[:i], func(o *event.Event) bool { return o.Thread == e.Thread }) {
			return true
		}
	}
	return false
}

func (q *question) failure(side int) Result {
	if q.tries[side] == len(q.sides[side]) {
		return refuted(reason.OnlyTrylocks)
	}
	return q.negative(reason.Inclusion)
}

// negative returns a refutation with that reason, or Unknown where events that were evicted
// or discarded might have changed the answer.
func (q *question) negative(what reason.What) Result {
	if q.missed || q.c.inexact || q.h.cutThrough() {
		return unknown(reason.Evicted)
	}
	return refuted(what)
}

// cutThrough reports whether the beginning of the run was evicted: closures contain all of
// it, and are then larger than they need be.
func (h *History) cutThrough() bool {
	return slices.ContainsFunc(h.cut, func(e event.Epoch) bool { return e > 0 })
}

// projected returns the result whose witness is the run, projected on the closure.
func (q *question) projected() Result {
	if err := q.refusedBefore(); err != nil {
		q.h.witnesses.Count(err)
		q.unexplained = true
		return refusal(err)
	}
	w := witness{steps: q.h.steps[:0]}
	defer func() { q.h.steps = w.steps }()
	var waits skippedWaits
	last, d := q.last(), q.h.ofLog()
	same := 0 // the first events that it contains
	for i := range q.h.log {
		x := &q.h.log[i]
		if x.Seq > last {
			break // no event of the closure comes after it
		}
		kept := q.c.hasEntry(x)
		switch {
		case !kept:
		case i == len(w.steps) && i < d.same: // the step is there, from the question before
			w.steps = w.steps[:i+1]
		default:
			e := x.Event()
			w.add(&e)
		}
		if kept && i+1 == len(w.steps) {
			same = i + 1
		}
		waits.add(x, kept)
	}
	d.same = same
	assumes := []string{finding.RaceFree}
	if waits.any || q.c.skips(last) {
		assumes = append(assumes, finding.GuardedData)
	}
	return q.checked(&w, finding.OrderSyncPreserving, assumes)
}

// last returns the Seq of the last chosen event.
func (q *question) last() (seq uint64) {
	for _, e := range q.chosen {
		seq = max(seq, e.Seq)
	}
	return seq
}

// skippedWaits finds waits for a semaphore, or posts, that a witness leaves out although it contains a
// later wait for the semaphore. It is closure.skips for semaphores.
type skippedWaits struct {
	objects map[event.ObjectID]bool // the semaphores of which an operation is left out
	any     bool
}

// add takes the next event of the run, and whether the witness contains it.
func (s *skippedWaits) add(x *kept.Event, kept bool) {
	switch {
	case x.Op != event.SemWait && x.Op != event.SemPost:
	case kept:
		s.any = s.any || x.Op == event.SemWait && s.objects[x.Object]
	default:
		if s.objects == nil {
			s.objects = map[event.ObjectID]bool{}
		}
		s.objects[x.Object] = true
	}
}

// checked appends the error to a witness, has it checked and returns the result.
func (q *question) checked(w *witness, by finding.Order, assumes []string) Result {
	r := Result{Verdict: Predicted, Order: by, Assumes: assumes}
	for _, e := range q.chosen {
		w.last(e, q.kind == finding.Deadlock)
		r.Chosen = append(r.Chosen, e.Seq)
		r.Timed = r.Timed || e.Flags&event.Timed != 0
	}
	err := q.check(w.steps, &r)
	q.h.witnesses.Count(err)
	if err != nil {
		q.unexplained = q.unexplained || execution.Unseen(err)
		if by == finding.OrderSyncPreserving && q.c != nil {
			q.remember(err, w.steps)
		}
		return refusal(err)
	}
	if slices.Contains(assumes, finding.GuardedData) {
		q.h.setSpans(&r, w.steps, q.chosen)
	}
	// The kept steps should contain the creation of each side's thread, and its acquires.
	extra := max(len(w.steps)-max(q.h.opt.Witness, 4*len(q.chosen)), 0)
	w.setHeld(extra, len(q.chosen))
	r.Witness, r.Elided = slices.Clone(w.steps[extra:]), q.h.evicted+uint64(extra)
	if q.h.byValue {
		r.OtherValues = q.h.otherValues(r.Witness[:len(r.Witness)-len(r.Chosen)])
	}
	return r
}

// check has a witness checked, and sets r.Unexplained.
func (q *question) check(steps []finding.Step, r *Result) (err error) {
	r.Unexplained, err = q.h.checker().CheckClaim(steps, execution.Claim{Kind: q.kind, Unexplained: q.lenient, Taken: q.taken, Interruption: q.between})
	return err
}

// refusal returns the result where the checker refuses a schedule: either because something was not seen, or because of
// an error of this package.
func refusal(err error) Result {
	what := reason.ToolError
	if execution.Unseen(err) {
		what = reason.UnseenEvent
	}
	r := unknown(what)
	r.Reason.Words = err.Error()
	return r
}

// checker returns the checker of schedules of the log. It is kept until the next event, because
// questions often come together.
func (h *History) checker() execution.Checker {
	d := h.ofLog()
	if d.checker == nil {
		d.checker = h.opt.Judges(h.log.Events())
	}
	return d.checker
}

// witness is a sequence of steps to which further ones are appended.
type witness struct {
	steps []finding.Step
}

// add appends a step that is executed.
func (w *witness) add(e *event.Event) { w.steps = append(w.steps, finding.StepOf(e)) }

// last appends a step that is enabled next or, in a deadlock, requested and blocked.
func (w *witness) last(e *event.Event, blocked bool) {
	s := finding.StepOf(e)
	if blocked {
		s.Seq, s.Time, s.Blocked = 0, 0, true
	}
	w.steps = append(w.steps, s)
}

// setHeld sets the locks that are held before each of the steps from one on; all of them at the last steps, so many,
// and at others no more than finding.MaxHeld. Their order is another than the run's.
func (w *witness) setHeld(from, sides int) {
	held := heldLocks{}
	for i := range w.steps {
		s := &w.steps[i]
		held.shown = i >= from
		if held.shown {
			s.Held, s.HeldAt, s.MoreHeld = nil, nil, 0 // a former witness may have used the step
			if h := held.of[s.Thread]; h != nil {
				s.Held, s.HeldAt = h.locks, h.stacks
			}
			if i >= len(w.steps)-sides {
				s.Held, s.HeldAt = slices.Clone(s.Held), slices.Clone(s.HeldAt)
			} else {
				s.ShortenHeld(nil)
			}
		}
		if !s.Blocked {
			held.execute(s)
		}
	}
}

// heldLocks are the locks that threads hold.
type heldLocks struct {
	of    map[event.ThreadID]*holds
	shown bool // steps share the slices, so that these do not change any more
}

// holds lists the locks that a thread holds.
type holds struct {
	locks  []event.ObjectID
	stacks []event.StackID // by lock: the call stack of its acquire
}

// execute executes a step.
func (l *heldLocks) execute(s *finding.Step) {
	switch s.Op {
	case event.Acquire, event.AcquireRead:
		if l.of == nil {
			l.of = map[event.ThreadID]*holds{}
		}
		h := l.of[s.Thread]
		if h == nil {
			h = &holds{}
			l.of[s.Thread] = h
		}
		l.own(h)
		h.locks, h.stacks = append(h.locks, s.Object), append(h.stacks, s.Stack)
	case event.Release:
		if h, at := l.find(s); h != nil {
			l.own(h)
			h.locks, h.stacks = slices.Delete(h.locks, at, at+1), slices.Delete(h.stacks, at, at+1)
		}
	}
}

// own copies the slices of a thread before they change, if steps may refer to them already. Of more than
// finding.MaxHeld locks they have copies.
func (l *heldLocks) own(h *holds) {
	if l.shown && len(h.locks) <= finding.MaxHeld {
		h.locks, h.stacks = slices.Clone(h.locks), slices.Clone(h.stacks)
	}
}

// find returns the thread that holds the lock of a release, and the place of the lock among those that it holds:
// the thread that releases it, or another one; nil if none does.
func (l *heldLocks) find(s *finding.Step) (*holds, int) {
	if h := l.of[s.Thread]; h != nil {
		if at := slices.Index(h.locks, s.Object); at >= 0 {
			return h, at
		}
	}
	for _, h := range l.of {
		if at := slices.Index(h.locks, s.Object); at >= 0 {
			return h, at
		}
	}
	return nil, 0
}
