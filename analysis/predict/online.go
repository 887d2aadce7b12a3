package predict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Online predicts deadlocks of two threads while the program runs, at the acquire that
// completes one: SPDOnline (Tunç, Mathur, Pavlogiannis, Viswanathan, PLDI 2023, Section
// 5). Its caller passes lock-order edges that are inverse to each other, and then each acquisition
// of these.
//
// For each pair of threads the closure only grows with their acquisitions, so each event is
// visited once. Work that would cost more time than the run itself, or more memory than the
// bounds below, is left to the end of the run: Settle finds the same deadlocks and more.
type Online struct {
	h       *History
	report  func(*finding.Finding)
	edges   map[int]*followedEdge // by finding.LockOrderEdge.ID
	pairs   int                   // open questions about two threads
	visited uint64                // events of the log that were walked over
}

// followedEdge holds the acquisitions of a lock-order edge, by thread.
type followedEdge struct {
	finding.LockOrderEdge
	threads  []acquirer
	inverses []*inversePair
}

// acquirer holds the Seq of a thread's acquisitions of an edge, in ascending order.
type acquirer struct {
	thread event.ThreadID
	seqs   []uint64
}

// inversePair is a pair of edges that are inverse to each other.
type inversePair struct {
	sides     [2]*followedEdge
	questions []*pairQuestion
	reported  bool // a deadlock of the pair was reported
}

// pairQuestion is the question about two threads, one of each side of a pair of edges.
type pairQuestion struct {
	threads [2]event.ThreadID
	q       *question
	closed  bool // the question is not asked again
}

// The bounds of what is followed.
const (
	maxFollowed      = 1 << 12 // edges
	maxPairQuestions = 1 << 12 // pairs of threads, of all edges together
	maxAcquirers     = 64      // threads of an edge
	maxAcquisitions  = 1 << 12 // acquisitions of an edge by a thread
)

// NewOnline returns an Online that predicts from a history. The history must take each event
// before the Online does. Report is called at once with each prediction: one for each pair of
// edges, whatever the threads. The callee may keep the finding.
func NewOnline(h *History, report func(*finding.Finding)) *Online {
	return &Online{h: h, report: report, edges: map[int]*followedEdge{}}
}

// Inverse begins to follow two lock-order edges that are inverse to each other. The acquisitions so
// far are those that the history still has.
func (o *Online) Inverse(older, newer finding.LockOrderEdge) {
	a := o.follow(older)
	b := o.follow(newer)
	if a == nil || b == nil || o.edges[older.ID] != a {
		return
	}
	f := &inversePair{sides: [2]*followedEdge{a, b}}
	a.inverses, b.inverses = append(a.inverses, f), append(b.inverses, f)
}

func (o *Online) follow(n finding.LockOrderEdge) *followedEdge {
	if x := o.edges[n.ID]; x != nil {
		return x
	}
	if !o.afford(1) {
		return nil
	}
	if len(o.edges) == maxFollowed {
		clear(o.edges) // most are of locks that were destroyed
		o.pairs = 0
	}
	x := &followedEdge{LockOrderEdge: n}
	o.edges[n.ID] = x
	for i := range o.h.log {
		e := &o.h.log[i]
		if e.Object != n.Requested.Lock || !e.Op.IsAcquire() || e.Flags&(event.Try|event.Inferred) != 0 || o.h.discarded(e) {
			continue
		}
		if (e.Op == event.AcquireRead) == n.Requested.Shared && i < len(o.h.log)-1 && slices.Equal(n.Held, o.h.heldBefore(e.Slot, e.Epoch)) {
			x.record(e.Thread, e.Seq)
		}
	}
	return x
}

// afford reports whether the log may be walked over so many times more, and if so counts
// the cost. All walks together may visit four times as many events as the run had so far,
// and 2 million more.
func (o *Online) afford(times uint64) bool {
	events := uint64(len(o.h.log)) + o.h.evicted
	cost := times * uint64(len(o.h.log))
	if o.visited+cost > 4*events+1<<21 {
		return false
	}
	o.visited += cost
	return true
}

// record records an acquisition and returns those of its thread; nil if a bound is reached.
func (x *followedEdge) record(thread event.ThreadID, seq uint64) *acquirer {
	at := slices.IndexFunc(x.threads, func(t acquirer) bool { return t.thread == thread })
	if at < 0 {
		if len(x.threads) == maxAcquirers {
			return nil
		}
		at = len(x.threads)
		x.threads = append(x.threads, acquirer{thread: thread})
	}
	t := &x.threads[at]
	if len(t.seqs) == maxAcquisitions {
		return nil
	}
	t.seqs = append(t.seqs, seq)
	return t
}

// Acquired records an acquisition of an edge that was passed to Inverse. The acquisition must
// be the latest event of the history.
func (o *Online) Acquired(edge int, thread event.ThreadID, seq uint64) {
	x := o.edges[edge]
	if x == nil {
		return
	}
	t := x.record(thread, seq)
	if t == nil {
		return
	}
	for _, f := range x.inverses {
		side := 0
		if f.sides[1] == x {
			side = 1
		}
		for i := 0; i < len(f.sides[1-side].threads) && !f.reported; i++ {
			if other := &f.sides[1-side].threads[i]; other.thread != thread {
				o.ask(f, side, t, other)
			}
		}
	}
	if !slices.ContainsFunc(x.inverses, func(f *inversePair) bool { return !f.reported }) {
		delete(o.edges, edge) // all its pairs are reported; Inverse may follow it again
	}
}

// ask resumes the question about two threads, one of which has a new acquisition.
func (o *Online) ask(f *inversePair, side int, t, other *acquirer) {
	lists := Pattern{t.seqs, other.seqs}
	threads := [2]event.ThreadID{t.thread, other.thread}
	if side == 1 {
		slices.Reverse(lists)
		threads[0], threads[1] = threads[1], threads[0]
	}
	d := o.question(f, threads)
	if d == nil || d.closed {
		return
	}
	d.q.sides = lists
	switch r := d.q.resume(); {
	case r.Verdict == Predicted:
		o.predicted(f, d)
	case r.Reason.What != reason.Inclusion && r.Reason.What != reason.Evicted && r.Reason.What != reason.OnlyTrylocks:
		d.closed = true
	}
}

// question returns the question about two threads, or nil if there are too many.
func (o *Online) question(f *inversePair, threads [2]event.ThreadID) *pairQuestion {
	for _, d := range f.questions {
		if d.threads == threads {
			return d
		}
	}
	if o.pairs == maxPairQuestions {
		return nil
	}
	o.pairs++
	d := &pairQuestion{threads: threads, q: o.h.ask(finding.Deadlock, make(Pattern, 2))}
	f.questions = append(f.questions, d)
	return d
}

// predicted has the witness checked, which costs several walks over the log. If that is
// too much now, the next acquisition tries again.
func (o *Online) predicted(f *inversePair, d *pairQuestion) {
	if !o.afford(8) {
		return
	}
	r := d.q.projected()
	if r.Verdict != Predicted {
		d.closed = true
		return
	}
	f.reported = true
	o.pairs = max(0, o.pairs-len(f.questions))
	f.questions = nil
	x := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Potential, Count: 1}
	o.h.setPredicted(&x, &r)
	o.report(&x)
}

// resume continues a search after its sides have grown, or after other events.
func (q *question) resume() Result {
	h := q.h
	h.update() // this may change h.rearranged
	switch {
	case q.c == nil:
		q.c = h.start()
	case q.c.of != h.rearranged || h.hasStale:
		old := q.c
		q.c = h.start()
		q.c.inexact = old.inexact
		for slot, upto := range old.at {
			q.c.raise(uint32(slot), upto)
		}
	default:
		for len(q.c.at) < len(h.slots) {
			q.c.at, q.c.next = append(q.c.at, h.cut[len(q.c.at)]), append(q.c.next, 0)
		}
	}
	return q.search()
}
