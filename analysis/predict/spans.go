package predict

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxSpans bounds the spans of one witness; with more, the finding stays in doubt.
const maxSpans = 64

// spans returns the code on which a witness rests that leaves critical sections out or moves them:
// what the threads execute within the sections that it keeps, of a lock of which a section that came
// before in the run is left out, or comes later in the witness. If that code reads nothing, the
// threads execute the same in the witness. steps are the whole witness, and its last events, which
// are attempted, are chosen. ok is false if there are more than maxSpans.
func (h *History) spans(steps []finding.Step, chosen []*event.Event) (spans []finding.Span, ok bool) {
	at := make(map[uint64]int, len(steps))
	executed := map[event.ThreadID][]span{}
	previous := map[event.ThreadID]*entry{}
	add := func(x *entry, last bool) {
		if p := previous[x.Thread]; p != nil {
			executed[x.Thread] = append(executed[x.Thread], span{p.Epoch, finding.Span{Thread: x.Thread, From: p.Stack, To: x.Stack, Last: last}})
		}
		previous[x.Thread] = x
	}
	for i := range steps[:len(steps)-len(chosen)] {
		at[steps[i].Seq] = i
		if x := h.entry(steps[i].Seq); x != nil {
			add(x, false)
		}
	}
	for _, e := range chosen {
		if x := h.entry(e.Seq); x != nil {
			add(x, true)
		}
	}
	for _, all := range h.sectionsByLock() {
		for _, s := range h.affected(all, at) {
			for _, x := range executed[s.thread] {
				if x.from >= s.begin && x.from < s.end && !slices.Contains(spans, x.Span) {
					spans = append(spans, x.Span)
				}
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

// span is a finding.Span and the epoch of its first event.
type span struct {
	from event.Epoch
	finding.Span
}

// heldSpan is a critical section.
type heldSpan struct {
	thread     event.ThreadID
	seq        uint64 // of the event that acquires the lock
	begin, end event.Epoch
	shared     bool
}

// sectionsByLock returns the critical sections in the log, in the order in which they begin. A wait
// on a condition ends one of its mutex, and begins another.
func (h *History) sectionsByLock() map[event.ObjectID][]heldSpan {
	all := map[event.ObjectID][]heldSpan{}
	end := func(lock event.ObjectID, x *entry) {
		for i := len(all[lock]) - 1; i >= 0; i-- {
			if s := &all[lock][i]; s.thread == x.Thread && s.end == noEnd {
				s.end = x.Epoch
				return
			}
		}
	}
	for i := range h.log {
		switch x := &h.log[i]; x.Op {
		case event.Acquire, event.AcquireRead:
			all[x.Object] = append(all[x.Object], heldSpan{x.Thread, x.Seq, x.Epoch, noEnd, x.Op == event.AcquireRead})
		case event.Release:
			end(x.Object, x)
		}
	}
	return all
}

// noEnd is the end of a section that has none.
const noEnd = ^event.Epoch(0)

// affected returns the kept ones of the sections of a lock whose thread may read other data in the
// witness than in the run: a section of another thread that came before in the run does not in the
// witness. at has the position of each kept event, by Seq. If sections were discarded or evicted, one
// of those may have come before any section.
func (h *History) affected(all []heldSpan, at map[uint64]int) []heldSpan {
	const never = int(^uint(0) >> 1)
	latest := map[event.ThreadID]int{} // position of the exclusive sections so far, never if one is left out
	var affected []heldSpan
	for _, s := range all {
		position, kept := at[s.seq]
		if !kept {
			position = never
		}
		moved := kept && h.evicted+h.thinned > 0
		for thread, p := range latest {
			moved = moved || kept && thread != s.thread && p > position
		}
		if moved {
			affected = append(affected, s)
		}
		if !s.shared {
			latest[s.thread] = max(latest[s.thread], position)
		}
	}
	return affected
}
