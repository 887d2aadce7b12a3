package predict

import (
	"cmp"
	"iter"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxSpans bounds the spans of one witness; with more, the finding stays in doubt.
const maxSpans = 64

// setSpans sets the code on which a witness rests that leaves critical sections out or moves them:
// what the threads execute within the sections that it keeps, of a lock of which it does not execute
// the same sections before, in the same order, as the run. Waits for semaphores begin sections too.
// If that code reads nothing, the threads execute the same in the witness. A span goes beyond the accesses
// that it contains, so that it leads from one call to the next. steps are the whole
// witness, and its last events, which are attempted, are chosen. More than maxSpans count as code that is not
// known. It sets the code of the sections that the witness leaves out or moves, too (finding.Finding.Moved).
func (h *History) setSpans(r *Result, steps []finding.Step, chosen []*event.Event) {
	certain := steps[:len(steps)-len(chosen)]
	d := h.ofLog()
	if d.places == nil {
		d.places = make(map[uint64]int, len(certain))
	}
	at := d.places
	clear(at)
	for i := range certain {
		if certain[i].Op.IsAccess() {
			continue // only sections and posts are looked up
		}
		at[certain[i].Seq] = i
	}
	objects := h.guardedObjects()
	affected := map[event.ThreadID][]heldSpan{}
	for _, o := range objects {
		for _, s := range o.affected(at, h.evicted+h.thinned > 0) {
			affected[s.thread] = append(affected[s.thread], s)
		}
	}
	r.MovedUnknown = h.overtaken(certain)
	if h.byValue {
		for thread, begin := range h.otherWrites(certain) {
			affected[thread] = append(affected[thread], heldSpan{thread: thread, begin: begin, end: noEnd})
			r.MovedUnknown = reason.Reason{What: reason.OtherWrite, Thread: thread}
		}
	}
	executed := h.executed(certain, chosen, affected)
	var all spanSet
	for thread, sections := range affected {
		for x := range within(executed[thread].spans(), sections) {
			if all.add(x); len(all.list) > maxSpans {
				r.Spans = []finding.Span{{}}
				return
			}
		}
	}
	r.Spans = all.sorted()
	if !r.MovedUnknown.Given() {
		r.Moved, r.MovedUnknown = h.moved(objects, at)
	}
}

// executed returns the spans of some threads in a witness, whose last events, which are attempted, are chosen.
func (h *History) executed(certain []finding.Step, chosen []*event.Event, threads map[event.ThreadID][]heldSpan) spanner {
	executed := spanner{}
	accessed := make(map[event.ThreadID]*uint64, len(threads)) // the Seq of the last access after the last other event; 0: there is none
	for t := range threads {
		accessed[t] = new(uint64)
	}
	add := func(seq uint64, last bool) {
		if x := h.entry(seq); x != nil {
			executed.add(x, last)
		}
	}
	for i := range certain {
		s := &certain[i]
		access := accessed[s.Thread]
		switch {
		case access == nil:
		case s.Op.IsAccess():
			*access = s.Seq
		default:
			*access = 0
			add(s.Seq, false)
		}
	}
	for _, e := range chosen {
		if access := accessed[e.Thread]; access != nil {
			*access = 0
			add(e.Seq, true)
		}
	}
	for _, access := range accessed {
		if *access != 0 {
			add(*access, false)
		}
	}
	return executed
}

// spanSet is a set of spans without regard to their times: each has those of all that were added.
type spanSet struct {
	list []finding.Span
	at   map[finding.Span]int // by Span.Code
}

func (s *spanSet) add(x finding.Span) {
	if s.at == nil {
		s.at = map[finding.Span]int{}
	}
	if i, known := s.at[x.Code()]; known {
		s.list[i].Since, s.list[i].Until = min(s.list[i].Since, x.Since), max(s.list[i].Until, x.Until)
		return
	}
	s.at[x.Code()] = len(s.list)
	s.list = append(s.list, x)
}

func (s *spanSet) sorted() []finding.Span {
	slices.SortFunc(s.list, func(a, b finding.Span) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Releases, b.Releases))
	})
	return s.list
}

// spanner finds the spans of threads, each from one event that is no access to the next one of its thread.
type spanner map[event.ThreadID]*threadSpans

// threadSpans are the spans of one thread.
type threadSpans struct {
	from     *kept.Event // the last event that has a call stack
	releases int         // the events after it
	last     event.Epoch // of the last event
	all      []span
}

// spans returns the spans in their order.
func (t *threadSpans) spans() []span {
	if t == nil {
		return nil
	}
	return t.all
}

// add takes the next event of its thread; last is that of finding.Span.
func (s spanner) add(x *kept.Event, last bool) {
	t := s[x.Thread]
	if t == nil {
		t = &threadSpans{}
		s[x.Thread] = t
	} else {
		t.all = append(t.all, span{t.last, finding.Span{Thread: x.Thread, Span: event.Span{
			From: t.from.Stack, To: x.Stack, Last: last, Releases: t.releases, Since: t.from.Time, Until: x.Time,
		}}})
	}
	if t.last = x.Epoch; t.from != nil && x.Op == event.Release && x.Stack == 0 && x.Flags&event.InCondWait == 0 {
		t.releases++
		return
	}
	t.from, t.releases = x, 0
}

// within returns those of the spans of one thread that begin in one of its sections. The spans are in their order;
// a thread may have as many of both as the log has events.
func within(spans []span, sections []heldSpan) iter.Seq[finding.Span] {
	slices.SortFunc(sections, func(a, b heldSpan) int { return cmp.Compare(a.begin, b.begin) })
	return func(yield func(finding.Span) bool) {
		next, end := 0, event.Epoch(0) // end is the latest of the sections before next
		for _, x := range spans {
			for ; next < len(sections) && sections[next].begin <= x.from; next++ {
				end = max(end, sections[next].end)
			}
			if x.from < end && !yield(x.Span) {
				return
			}
		}
	}
}

// span is a finding.Span and the epoch of the event of its thread before its last one.
type span struct {
	from event.Epoch
	finding.Span
}

// heldSpan is a critical section, or what a thread executes from a wait for a semaphore to its next
// post of that semaphore.
type heldSpan struct {
	thread     event.ThreadID
	seq        uint64 // of the event that acquires the lock, or of the wait
	begin, end event.Epoch
	shared     bool
	posts      int // of a wait: the number of posts that it needs
}

// guardedObject is a lock or a semaphore, with what the data that it guards depend on: its sections in
// the order in which they begin, and its posts, each by its Seq.
type guardedObject struct {
	sections []heldSpan
	posts    []uint64
	value    uint64 // the initial value of a semaphore
	counted  bool   // it is recorded
	waits    bool   // it is a semaphore for which threads wait
}

// guardedObjects returns the locks and semaphores of the log, which do not change.
func (h *History) guardedObjects() map[event.ObjectID]*guardedObject {
	d := h.ofLog()
	if d.guarded == nil {
		d.guarded = h.findGuarded()
	}
	return d.guarded
}

// findGuarded returns the locks and semaphores of the log. A wait on a condition ends a critical
// section of its mutex, and begins another.
func (h *History) findGuarded() map[event.ObjectID]*guardedObject {
	all := map[event.ObjectID]*guardedObject{}
	for i := range h.log {
		switch x := &h.log[i]; x.Op {
		case event.Init:
			if x.Kind == event.KindSemaphore && x.Flags&event.HasValue != 0 {
				o := guarded(all, x)
				o.value, o.counted = x.Value, true
			}
		case event.Acquire, event.AcquireRead, event.SemWait:
			o := guarded(all, x)
			o.waits = o.waits || x.Op == event.SemWait
			o.begin(x)
		case event.Release:
			guarded(all, x).end(x)
		case event.SemPost:
			o := guarded(all, x)
			o.end(x)
			o.posts = append(o.posts, x.Seq)
		}
	}
	return all
}

// guarded returns the object of an event, which it makes if there is none.
func guarded(all map[event.ObjectID]*guardedObject, x *kept.Event) *guardedObject {
	o := all[x.Object]
	if o == nil {
		o = &guardedObject{}
		all[x.Object] = o
	}
	return o
}

// begin adds the section that an event begins. A wait for a semaphore needs as many posts as it is
// waits before it and itself, less the initial value; all posts so far if that is not known.
func (o *guardedObject) begin(x *kept.Event) {
	s := heldSpan{thread: x.Thread, seq: x.Seq, begin: x.Epoch, end: noEnd, shared: x.Op == event.AcquireRead}
	switch n := uint64(len(o.sections)) + 1; {
	case x.Op != event.SemWait:
	case !o.counted:
		s.posts = len(o.posts)
	case n > o.value:
		s.posts = min(int(n-o.value), len(o.posts))
	}
	o.sections = append(o.sections, s)
}

// end ends the thread's latest section that is open.
func (o *guardedObject) end(x *kept.Event) {
	for i := len(o.sections) - 1; i >= 0; i-- {
		if s := &o.sections[i]; s.thread == x.Thread && s.end == noEnd {
			s.end = x.Epoch
			return
		}
	}
}

// noEnd is the end of a section that has none.
const noEnd = ^event.Epoch(0)

// affected returns the kept sections whose thread may read other data in the witness than in the run:
// the exclusive sections before it, or the posts that it needs, are not the same ones in the same
// order. at has the position of each kept event, by Seq. With incomplete, the log lacks sections,
// which may have come before any section.
func (o *guardedObject) affected(at map[uint64]int, incomplete bool) []heldSpan {
	exclusive := o.exclusive()
	executed := inOrder(exclusive, at)
	sameSections, samePosts := commonPrefix(exclusive, executed), commonPrefix(o.posts, inOrder(o.posts, at))
	var affected []heldSpan
	before := 0 // exclusive sections before s in the run
	for _, s := range o.sections {
		if position, kept := at[s.seq]; kept {
			now := executedBefore(executed, at, position)
			if incomplete || now != before || before > sameSections || s.posts > samePosts {
				affected = append(affected, s)
			}
		}
		if !s.shared {
			before++
		}
	}
	return affected
}

// exclusive returns the sections that are not shared, by Seq, in the order of the run.
func (o *guardedObject) exclusive() (all []uint64) {
	for i := range o.sections {
		if s := &o.sections[i]; !s.shared {
			all = append(all, s.seq)
		}
	}
	return all
}

// executedBefore returns the number of events, in the order of their positions, that come before a position.
func executedBefore(events []uint64, at map[uint64]int, position int) int {
	n, _ := slices.BinarySearchFunc(events, position, func(seq uint64, p int) int { return cmp.Compare(at[seq], p) })
	return n
}

// inOrder returns those of some events that have a position, in the order of their positions.
func inOrder(events []uint64, at map[uint64]int) []uint64 {
	var out []uint64
	for _, seq := range events {
		if _, kept := at[seq]; kept {
			out = append(out, seq)
		}
	}
	slices.SortFunc(out, func(a, b uint64) int { return cmp.Compare(at[a], at[b]) })
	return out
}

// commonPrefix returns the length of the longest common prefix of two lists.
func commonPrefix(a, b []uint64) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
