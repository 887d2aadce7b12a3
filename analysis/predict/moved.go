package predict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxMoved bounds the spans of the sections that a witness leaves out or moves; with more, their code counts as
// not known.
const maxMoved = 256

// moved returns the code of the critical sections that a witness leaves out or moves before those that it keeps:
// if all that this code writes was recorded, the checker has seen to it that what threads read in the sections
// that the witness keeps is what they read in the run. Otherwise unknown is the reason why it is not known which
// code that is. at is that of guardedObject.affected.
func (h *History) moved(objects map[event.ObjectID]*guardedObject, at map[uint64]int) (spans []finding.Span, unknown reason.Reason) {
	if h.evicted+h.thinned > 0 {
		return nil, reason.Reason{What: reason.NotKept}
	}
	sections := map[event.ThreadID][]heldSpan{}
	for _, o := range objects {
		affected := o.affected(at, false)
		switch {
		case len(affected) == 0:
			continue
		case o.waits:
			return nil, reason.Reason{What: reason.BeforePost}
		}
		for _, s := range o.movedBefore(affected, at) {
			sections[s.thread] = append(sections[s.thread], s)
		}
	}
	run := spanner{}
	for i := range h.log {
		if x := &h.log[i]; len(sections[x.Thread]) > 0 && !x.Op.IsAccess() {
			run.add(x, false)
		}
	}
	var all spanSet
	for thread, of := range sections {
		for x := range within(run[thread].spans(), of) {
			if all.add(x); len(all.list) > maxMoved {
				return nil, reason.Reason{What: reason.TooMuch}
			}
		}
	}
	return all.sorted(), reason.Reason{}
}

// movedBefore returns the exclusive sections of which some come, in the run or in the witness, but not in both,
// before one of the affected sections: those from the first one on of which that may be so.
func (o *guardedObject) movedBefore(affected []heldSpan, at map[uint64]int) (moved []heldSpan) {
	exclusive := o.exclusive()
	executed := inOrder(exclusive, at)
	first := commonPrefix(exclusive, executed)
	for _, s := range affected {
		run, _ := slices.BinarySearch(exclusive, s.seq)
		first = min(first, run, executedBefore(executed, at, at[s.seq]))
	}
	last := affected[len(affected)-1].seq // in the order of the run
	before := 0
	for _, s := range o.sections {
		if s.shared {
			continue
		}
		if _, kept := at[s.seq]; before >= first && (kept || s.seq < last) {
			moved = append(moved, s)
		}
		before++
	}
	return moved
}
