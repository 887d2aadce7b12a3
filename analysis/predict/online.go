package predict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Online predicts deadlocks of two threads while the program runs, at the acquire that
// completes one: SPDOnline (Tunç, Mathur, Pavlogiannis, Viswanathan, PLDI 2023, Section
// 5). Its caller passes nestings (lock-order edges) that oppose each other, and then each
// acquisition of these.
//
// For each pair of threads the closure only grows with their acquisitions, so each event is
// visited once. Work that would cost more time than the run itself, or more memory than the
// bounds below, is left to the end of the run: Settle finds the same deadlocks and more.
type Online struct {
	h        *History
	tell     func(*finding.Finding)
	nestings map[int]*followed // by finding.LockOrderEdge.ID
	pairs    int               // open questions about two threads
	spent    uint64            // events of the log that were walked over
}

// followed holds the acquisitions of a nesting, by thread.
type followed struct {
	finding.LockOrderEdge
	threads []taker
	facing  []*facing
}

// taker holds the Seq of a thread's acquisitions of a nesting, in ascending order.
type taker struct {
	thread event.ThreadID
	seqs   []uint64
}

// facing is a pair of nestings that oppose each other.
type facing struct {
	sides    [2]*followed
	asked    []*duel
	reported bool // a deadlock of the pair was reported
}

// duel is the question about two threads, one of each side of a pair of nestings.
type duel struct {
	threads [2]event.ThreadID
	q       *question
	over    bool // the question is not asked again
}

// The bounds of what is followed.
const (
	maxFollowed = 1 << 12 // nestings
	maxDuels    = 1 << 12 // pairs of threads, of all nestings together
	maxTakers   = 64      // threads of a nesting
	maxTaken    = 1 << 12 // acquisitions of a nesting by a thread
)

// NewOnline returns an Online that predicts from a history. The history must take each event
// before the Online does. Tell is called at once with each prediction: one for each pair of
// nestings, whatever the threads. The callee may keep the finding.
func NewOnline(h *History, tell func(*finding.Finding)) *Online {
	return &Online{h: h, tell: tell, nestings: map[int]*followed{}}
}

// Opposed begins to follow two nestings that oppose each other. The acquisitions so far are
// those that the history still has.
func (o *Online) Opposed(older, newer finding.LockOrderEdge) {
	a := o.follow(older)
	b := o.follow(newer)
	if a == nil || b == nil || o.nestings[older.ID] != a {
		return
	}
	f := &facing{sides: [2]*followed{a, b}}
	a.facing, b.facing = append(a.facing, f), append(b.facing, f)
}

func (o *Online) follow(n finding.LockOrderEdge) *followed {
	if x := o.nestings[n.ID]; x != nil {
		return x
	}
	if !o.afford(1) {
		return nil
	}
	if len(o.nestings) == maxFollowed {
		clear(o.nestings) // most are of locks that were destroyed
		o.pairs = 0
	}
	x := &followed{LockOrderEdge: n}
	o.nestings[n.ID] = x
	for i := range o.h.log {
		e := &o.h.log[i]
		if e.Object != n.Requested.Lock || !e.Op.IsAcquire() || e.Flags&(event.Try|event.Inferred) != 0 || o.h.gone(e) {
			continue
		}
		if (e.Op == event.AcquireRead) == n.Requested.Shared && i < len(o.h.log)-1 && slices.Equal(n.Held, o.h.heldBefore(e.Slot, e.Epoch)) {
			x.take(e.Thread, e.Seq)
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
	if o.spent+cost > 4*events+1<<21 {
		return false
	}
	o.spent += cost
	return true
}

// take records an acquisition and returns those of its thread; nil if a bound is reached.
func (x *followed) take(thread event.ThreadID, seq uint64) *taker {
	at := slices.IndexFunc(x.threads, func(t taker) bool { return t.thread == thread })
	if at < 0 {
		if len(x.threads) == maxTakers {
			return nil
		}
		at = len(x.threads)
		x.threads = append(x.threads, taker{thread: thread})
	}
	t := &x.threads[at]
	if len(t.seqs) == maxTaken {
		return nil
	}
	t.seqs = append(t.seqs, seq)
	return t
}

// Taken records an acquisition of a nesting that was passed to Opposed. The acquisition must
// be the latest event of the history.
func (o *Online) Taken(nesting int, thread event.ThreadID, seq uint64) {
	x := o.nestings[nesting]
	if x == nil {
		return
	}
	t := x.take(thread, seq)
	if t == nil {
		return
	}
	for _, f := range x.facing {
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
	if !slices.ContainsFunc(x.facing, func(f *facing) bool { return !f.reported }) {
		delete(o.nestings, nesting) // all its pairs are reported; Opposed may follow it again
	}
}

// ask resumes the question about two threads, one of which has a new acquisition.
func (o *Online) ask(f *facing, side int, t, other *taker) {
	lists := Pattern{t.seqs, other.seqs}
	threads := [2]event.ThreadID{t.thread, other.thread}
	if side == 1 {
		slices.Reverse(lists)
		threads[0], threads[1] = threads[1], threads[0]
	}
	d := o.duel(f, threads)
	if d == nil || d.over {
		return
	}
	d.q.sides = lists
	switch r := d.q.resume(); {
	case r.Verdict == Predicted:
		o.predicted(f, d)
	case r.Reason != inclusion && r.Reason != forgotten && r.Reason != tried:
		d.over = true
	}
}

// duel returns the question about two threads, or nil if there are too many.
func (o *Online) duel(f *facing, threads [2]event.ThreadID) *duel {
	for _, d := range f.asked {
		if d.threads == threads {
			return d
		}
	}
	if o.pairs == maxDuels {
		return nil
	}
	o.pairs++
	d := &duel{threads: threads, q: o.h.ask(finding.Deadlock, make(Pattern, 2))}
	f.asked = append(f.asked, d)
	return d
}

// predicted has the witness checked, which costs several walks over the log. If that is
// too much now, the next acquisition tries again.
func (o *Online) predicted(f *facing, d *duel) {
	if !o.afford(8) {
		return
	}
	r := d.q.projected()
	if r.Verdict != Predicted {
		d.over = true
		return
	}
	f.reported = true
	o.pairs = max(0, o.pairs-len(f.asked))
	f.asked = nil
	x := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Potential, Count: 1}
	o.h.become(&x, &r)
	o.tell(&x)
}

// resume continues a search after its sides have grown, or after other events.
func (q *question) resume() Result {
	h := q.h
	h.update() // this may change h.rearranged
	switch {
	case q.c == nil:
		q.c = h.start()
	case q.c.of != h.rearranged || h.untidy:
		old := q.c
		q.c = h.start()
		q.c.blurred = old.blurred
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
