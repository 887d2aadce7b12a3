// Package confirm says how another run is led along the witness of a finding: which threads wait before which
// operations, and for whom (Schedule). It takes a finding, whose witness a checker has accepted, and returns holds as
// data. A Counter, which sees the events of the run, says which thread and which of its operations is meant in another
// run. The package knows no process and no way to hold a thread.
//
// Of a deadlock, each thread of the cycle waits before its last request until all others are at theirs. What it holds
// then it must have acquired as in the witness: so it also waits before the acquires of these locks, until the others have
// left their earlier critical sections of the same lock. Everything else runs free.
//
// This is the active testing of DeadlockFuzzer (Joshi, Park, Sen, Naik, PLDI 2009), with a witness in the place of a
// heuristic.
package confirm

import (
	"cmp"
	"errors"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Hold is an operation before which a thread waits.
type Hold struct {
	Step  finding.Step // the operation, as an event of the run
	After []int        // the holds that threads must have come to before the thread goes on
}

// ErrNoWitness means that a finding has no schedule to follow.
var ErrNoWitness = errors.New("it has no schedule that could be followed")

// ErrKind means that another run cannot be led into a finding of this kind.
var ErrKind = errors.New("only deadlocks of locks are tried")

// ErrTries means that a thread of a deadlock does not wait but tries again and again: no run that got there would show it.
var ErrTries = errors.New("a thread of it tries again and again, so that nothing shows that it would go on for ever")

// tries reports whether a thread of a deadlock does not wait but tries again and again.
func tries(f *finding.Finding) bool {
	return f.Kind == finding.Deadlock && slices.ContainsFunc(f.Evidence, func(s finding.Step) bool {
		return s.Op.IsAcquire() && s.Flags&event.Repeated != 0
	})
}

// Schedule returns the holds that lead to a deadlock, in the order of the witness. The last ones are the requests by
// which the threads block each other.
func Schedule(f *finding.Finding) ([]Hold, error) {
	switch {
	case f.Kind != finding.Deadlock || len(f.Evidence) < 2 || len(f.Classes) > 0:
		return nil, ErrKind
	case len(f.Witness) == 0:
		return nil, ErrNoWitness
	case tries(f):
		return nil, ErrTries
	}
	sides := map[event.ThreadID]bool{}
	for i := range f.Evidence {
		s := &f.Evidence[i]
		if !s.Op.IsAcquire() || s.Flags&event.InCondWait != 0 {
			return nil, ErrKind
		}
		sides[s.Thread] = true
	}
	w := walk{witness: f.Witness, sides: sides, held: map[owned]int{}}
	w.run()
	return w.holds(f.Evidence), nil
}

// owned is a lock that a thread holds.
type owned struct {
	thread event.ThreadID
	lock   event.ObjectID
}

// walk finds the critical sections that are open at the end of a witness.
type walk struct {
	witness []finding.Step
	sides   map[event.ThreadID]bool
	held    map[owned]int // index of the acquire
}

func (w *walk) run() {
	for i := range w.witness {
		s := &w.witness[i]
		switch key := (owned{s.Thread, s.Object}); {
		case s.Blocked || !w.sides[s.Thread]:
		case s.Op.IsAcquire():
			if _, again := w.held[key]; !again {
				w.held[key] = i
			}
		case s.Op == event.Release:
			delete(w.held, key)
		}
	}
}

// at is a hold with its position in the witness.
type at struct {
	Hold
	index int
}

// holds returns the holds before the acquires of the locks that are held at the end, and before the last requests.
func (w *walk) holds(requests []finding.Step) []Hold {
	var all []at
	for _, i := range w.held {
		if s := &w.witness[i]; s.Flags&event.InCondWait == 0 {
			all = append(all, at{Hold{Step: *s}, i})
		}
	}
	slices.SortFunc(all, func(a, b at) int { return cmp.Compare(a.index, b.index) })
	first := len(all)
	for i := range requests {
		all = append(all, at{Hold{Step: requests[i]}, len(w.witness) + i})
	}
	out := make([]Hold, len(all))
	for i := range all {
		out[i] = all[i].Hold
		if i < first {
			out[i].After = w.before(all, i)
			continue
		}
		for other := first; other < len(all); other++ {
			if other != i {
				out[i].After = append(out[i].After, other)
			}
		}
	}
	return out
}

// before returns the holds that the other threads come to once they have left their critical sections of the lock of a
// hold that come before it in the witness.
func (w *walk) before(all []at, hold int) (after []int) {
	h := &all[hold]
	last := map[event.ThreadID]int{}
	for i := range w.witness[:h.index] {
		s := &w.witness[i]
		if s.Object == h.Step.Object && s.Thread != h.Step.Thread && w.sides[s.Thread] {
			last[s.Thread] = i
		}
	}
	for other := range all {
		t := all[other].Step.Thread
		if i, left := last[t]; left && all[other].index > i {
			after = append(after, other)
			delete(last, t)
		}
	}
	return after
}
