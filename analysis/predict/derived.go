package predict

import (
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// derived holds what questions compute from the log as it is, each part when it is first needed. Questions
// often come together; the next event discards it.
type derived struct {
	some      bool // something is set
	checker   execution.Checker
	bySlot    *slotLog
	accesses  map[accessClass][]uint64         // the result of classify
	addresses map[event.ThreadID][]addressRead // the result of addressReads
	guarded   map[event.ObjectID]*guardedObject
	sharers   *sharers
	refused   []refusedPrefix
	places    map[uint64]int // setSpans uses it again and again
	same      int            // the first elements of History.steps are those of so many first events of the log
}

// ofLog returns what is known of the log as it is.
func (h *History) ofLog() *derived {
	h.derived.some = true
	return &h.derived
}

// sharers are the threads that access each variable of several threads.
type sharers struct {
	of map[event.ObjectID][]sharer
	// unplaced is a thread of which some accesses do not stand where they were made; 0: there is none.
	unplaced event.ThreadID
}

// sharer is a thread that accesses a variable.
type sharer struct {
	thread event.ThreadID
	first  uint64 // Seq of its first access
}

// sharers returns the threads that access each variable of the log.
func (h *History) sharers() *sharers {
	d := h.ofLog()
	if d.sharers == nil {
		d.sharers = h.findSharers()
	}
	return d.sharers
}

func (h *History) findSharers() *sharers {
	type by struct {
		thread event.ThreadID
		object event.ObjectID
	}
	all, seen := &sharers{of: map[event.ObjectID][]sharer{}}, map[by]bool{}
	for i := range h.log {
		x := &h.log[i]
		if !x.Op.IsAccess() {
			continue
		}
		if x.Flags&event.Past != 0 {
			return &sharers{unplaced: x.Thread}
		}
		if first := (by{x.Thread, x.Object}); !seen[first] {
			seen[first] = true
			all.of[x.Object] = append(all.of[x.Object], sharer{x.Thread, x.Seq})
		}
	}
	for id, of := range all.of {
		if len(of) < 2 {
			delete(all.of, id)
		}
	}
	return all
}

// overtaken returns a reason if some write comes, in a witness, before what a thread that had accessed the variable
// did before it in the run. What that thread read of the variable in between need not be recorded: it had
// the variable for itself, or had read the value before (docs/watch-shared.md). Accesses that do not stand where they
// were made count as such.
func (h *History) overtaken(steps []finding.Step) reason.Reason {
	all := h.sharers()
	if all.unplaced != 0 {
		return reason.Reason{What: reason.Unplaced, Thread: all.unplaced}
	}
	earliest := map[event.ThreadID]*uint64{} // Seq of the steps of each thread so far, from the end
	var of event.ThreadID                    // the thread of the last step
	var own *uint64                          // its element of earliest
	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		if s.Op.IsWrite() {
			if by := all.overtakes(s, earliest); by != 0 {
				return reason.Reason{What: reason.Overtaken, Thread: by, Other: s.Thread}
			}
		}
		if own == nil || of != s.Thread {
			of, own = s.Thread, earliest[s.Thread]
		}
		if own == nil {
			own = new(uint64)
			*own = s.Seq
			earliest[of] = own
		}
		*own = min(*own, s.Seq)
	}
	return reason.Reason{}
}

// overtakes returns another thread that accessed the variable of a write before it in the run, and of which a later
// step of the witness comes before it in the run, too; 0 if there is none. earliest has the least Seq of the later
// steps of each thread.
func (s *sharers) overtakes(write *finding.Step, earliest map[event.ThreadID]*uint64) event.ThreadID {
	for _, a := range s.of[write.Object] {
		if a.thread == write.Thread || a.first >= write.Seq {
			continue
		}
		if next := earliest[a.thread]; next != nil && *next < write.Seq {
			return a.thread
		}
	}
	return 0
}
