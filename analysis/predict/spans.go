package predict

import (
	"cmp"
	"iter"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxSpans bounds the spans of one witness; with more, the finding stays in doubt.
const maxSpans = 64

// spans returns the code on which a witness rests that leaves critical sections out or moves them:
// what the threads execute within the sections that it keeps, of a lock of which it does not execute
// the same sections before, in the same order, as the run. Waits for semaphores begin sections too.
// If that code reads nothing, the threads execute the same in the witness. A span goes beyond the accesses
// that it contains, so that it leads from one call to the next. steps are the whole
// witness, and its last events, which are attempted, are chosen. ok is false if there are more than
// maxSpans.
func (h *History) spans(steps []finding.Step, chosen []*event.Event) (spans []finding.Span, ok bool) {
	at := make(map[uint64]int, len(steps))
	executed := map[event.ThreadID][]span{}
	previous := map[event.ThreadID]*entry{} // the last event that is no access
	accessed := map[event.ThreadID]*entry{} // the last access after that
	add := func(x *entry, last bool) {
		if p := previous[x.Thread]; p != nil {
			executed[x.Thread] = append(executed[x.Thread], span{p.Epoch, finding.Span{Thread: x.Thread, From: p.Stack, To: x.Stack, Last: last}})
		}
		delete(accessed, x.Thread)
		previous[x.Thread] = x
	}
	for i := range steps[:len(steps)-len(chosen)] {
		at[steps[i].Seq] = i
		switch x := h.entry(steps[i].Seq); {
		case x == nil:
		case x.Op.IsAccess():
			accessed[x.Thread] = x
		default:
			add(x, false)
		}
	}
	for _, e := range chosen {
		if x := h.entry(e.Seq); x != nil {
			add(x, true)
		}
	}
	for _, x := range accessed {
		add(x, false)
	}
	affected := map[event.ThreadID][]heldSpan{}
	for _, o := range h.guardedObjects() {
		for _, s := range o.affected(at, h.evicted+h.thinned > 0) {
			affected[s.thread] = append(affected[s.thread], s)
		}
	}
	if h.byValue {
		for thread, begin := range h.otherWrites(steps[:len(steps)-len(chosen)]) {
			affected[thread] = append(affected[thread], heldSpan{thread: thread, begin: begin, end: noEnd})
		}
	}
	seen := map[finding.Span]bool{}
	for thread, sections := range affected {
		for x := range within(executed[thread], sections) {
			if !seen[x] {
				seen[x] = true
				spans = append(spans, x)
			}
			if len(spans) > maxSpans {
				return nil, false
			}
		}
	}
	slices.SortFunc(spans, func(a, b finding.Span) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return spans, true
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

// span is a finding.Span and the epoch of its first event.
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
}

// guardedObjects returns the locks and semaphores of the log. A wait on a condition ends a critical
// section of its mutex, and begins another.
func (h *History) guardedObjects() map[event.ObjectID]*guardedObject {
	all := map[event.ObjectID]*guardedObject{}
	for i := range h.log {
		switch x := &h.log[i]; x.Op {
		case event.Init:
			if x.Kind == event.KindSemaphore && x.Flags&event.HasValue != 0 {
				o := guarded(all, x)
				o.value, o.counted = x.Value, true
			}
		case event.Acquire, event.AcquireRead, event.SemWait:
			guarded(all, x).begin(x)
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
func guarded(all map[event.ObjectID]*guardedObject, x *entry) *guardedObject {
	o := all[x.Object]
	if o == nil {
		o = &guardedObject{}
		all[x.Object] = o
	}
	return o
}

// begin adds the section that an event begins. A wait for a semaphore needs as many posts as it is
// waits before it and itself, less the initial value; all posts so far if that is not known.
func (o *guardedObject) begin(x *entry) {
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
func (o *guardedObject) end(x *entry) {
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
	var exclusive []uint64
	for i := range o.sections {
		if s := &o.sections[i]; !s.shared {
			exclusive = append(exclusive, s.seq)
		}
	}
	executed := inOrder(exclusive, at)
	sameSections, samePosts := commonPrefix(exclusive, executed), commonPrefix(o.posts, inOrder(o.posts, at))
	var affected []heldSpan
	before := 0 // exclusive sections before s in the run
	for _, s := range o.sections {
		if position, kept := at[s.seq]; kept {
			now, _ := slices.BinarySearchFunc(executed, position, func(seq uint64, p int) int { return cmp.Compare(at[seq], p) })
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
