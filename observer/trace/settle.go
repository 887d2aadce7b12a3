package trace

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lockword"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Settled is a source whose events with flag Past stand where they were made, in which the accesses of variables
// that the run used as locks are events of locks, and whose events have their own numbers.
type Settled struct {
	Source
	locks *lockword.Rewriter
	words map[event.ObjectID]bool
	past  map[event.ThreadID][]event.Event // by time; those that have not been returned
	ready []event.Event                    // to be returned next, from next on
	next  int
	// wider are the numbers, in Source, of the events up to which reads of variables are Wider.
	wider    map[event.ObjectID]uint64
	last     uint64   // number of the last event that was returned
	late     []uint64 // numbers, in Source, of the events that are not where they were; ascending
	inserted []uint64 // numbers, in Source, of the events before which others were put
}

// Settle returns a source of the events of again in which the accesses of the past stand in their
// places: each behind the last event of its thread that is not later. Variables that the run used as locks are
// locks there; see package lockword. first is a source of the same
// events, which is read to its end. An error of it is left to again, which has it at the same event.
func Settle(first, again Source) *Settled {
	s := &Settled{Source: again, past: map[event.ThreadID][]event.Event{}, wider: map[event.ObjectID]uint64{}}
	var e event.Event
	var words lockword.Finder
	if names, ok := first.(interface{ SkipNames() }); ok {
		names.SkipNames() // nobody needs them
	}
	for first.Next(&e) == nil {
		words.Event(&e)
		if e.Flags&event.Past == 0 {
			continue
		}
		s.past[e.Thread] = append(s.past[e.Thread], e)
		if e.Flags&event.Wider != 0 {
			s.wider[e.Object] = e.Seq
		}
	}
	s.words = words.Locks()
	s.locks = lockword.NewRewriter(s.words, words.Unheard())
	for _, of := range s.past {
		for i := range of {
			s.widen(&of[i])
		}
		slices.SortStableFunc(of, func(a, b event.Event) int { return cmp.Compare(a.Time, b.Time) })
	}
	return s
}

// Shrink evicts names of the source that it can read again.
func (s *Settled) Shrink() {
	if names, ok := s.Source.(interface{ Shrink() }); ok {
		names.Shrink()
	}
}

// Recall reads names of the source again; see Reader.Recall.
func (s *Settled) Recall(needed *event.Names) {
	if names, ok := s.Source.(interface{ Recall(*event.Names) }); ok {
		names.Recall(needed)
	}
}

// widen marks a read of a variable that was divided later: it is a load of more bytes than the variable has kept. The
// past read that says so is recorded when that happens.
func (s *Settled) widen(e *event.Event) {
	if e.Op == event.Read && e.Seq < s.wider[e.Object] {
		e.Flags |= event.Wider
	}
}

// Next implements Source.
func (s *Settled) Next(e *event.Event) error {
	for s.next == len(s.ready) {
		s.ready, s.next = s.ready[:0], 0
		if err := s.Source.Next(e); err != nil {
			return err
		}
		s.take(e)
	}
	*e = s.ready[s.next]
	s.next++
	e.Flags &^= event.Past
	s.last++
	e.Seq = s.last
	return nil
}

// take makes an event of the source ready, and before it the accesses of the past that come before
// it: at the latest where they were recorded, and never before their thread begins.
func (s *Settled) take(e *event.Event) {
	late := e.Flags&event.Past != 0
	past := s.past[e.Thread]
	for len(past) > 0 && e.Op != event.Begin && (past[0].Time < e.Time || late && past[0].Time == e.Time) {
		s.ready = append(s.ready, past[0])
		s.inserted = append(s.inserted, e.Seq)
		past = past[1:]
	}
	s.past[e.Thread] = past
	if late {
		s.late = append(s.late, e.Seq)
		return
	}
	s.widen(e)
	if !s.locks.Rewrites(e) {
		s.ready = append(s.ready, *e)
		return
	}
	at := len(s.ready)
	s.ready = s.locks.Rewrite(s.ready, e)
	switch n := len(s.ready) - at; n {
	case 0:
		s.late = append(s.late, e.Seq)
	default:
		for range n - 1 {
			s.inserted = append(s.inserted, e.Seq)
		}
	}
}

// Locks returns the variables that the run used as locks.
func (s *Settled) Locks() map[event.ObjectID]bool { return s.words }

// Lock returns what is known of a variable that the run used as a lock: the call stack of the store that initialised
// it, 0 if none was recorded; ok is false if it is no such variable. All events must have been returned.
func (s *Settled) Lock(id event.ObjectID) (initialised event.StackID, ok bool) {
	return s.locks.Initialised()[id], s.words[id]
}

// LockStacks returns the call stacks at which all atomic accesses became events of locks, once all events have been
// returned.
func (s *Settled) LockStacks() []event.StackID { return s.locks.Stacks() }

// Cut returns where the trace is cut short; nil if it is whole, or the source is no trace.
func (s *Settled) Cut() *Cut {
	c, ok := s.Source.(interface{ Cut() *Cut })
	if !ok {
		return nil
	}
	cut := c.Cut()
	if cut == nil {
		return nil
	}
	settled := *cut
	settled.After = s.Number(cut.After)
	return &settled
}

// Number returns the number that an event of the original source has in this one, once all events have
// been returned.
func (s *Settled) Number(seq uint64) uint64 {
	late, _ := slices.BinarySearch(s.late, seq)
	inserted, _ := slices.BinarySearch(s.inserted, seq+1)
	return seq + uint64(inserted) - uint64(late)
}

// Summary implements Source.
func (s *Settled) Summary() (sum run.Summary, whole bool) {
	sum, whole = s.Source.Summary()
	sum.Renumber(s.Number)
	return sum, whole
}
