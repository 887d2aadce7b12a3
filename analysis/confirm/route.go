package confirm

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Stop is an operation before which a thread waits until other threads have executed theirs.
type Stop struct {
	Step  finding.Step // the operation, as an event of the run
	Since uint64       // Seq of the thread's stop before; 0: there is none
	// Behind are the stops whose operations must have been executed before the thread goes on.
	Behind []int
	// After: it comes after the witness, which is complete without it.
	After bool
}

// maxStops bounds the stops of a route: of a longer witness, only the end is kept in order.
const maxStops = 2000

// Route returns the stops by which another run follows the witness of a finding, in this order. At each of them a thread
// waits until its operation is the next one of the witness. What a thread did next in the run and not in the witness
// comes after all of that. stops reports whether a thread can be stopped before an operation.
//
// Where one thread does several operations in a row, it is stopped before the first one, and others wait for the last.
func (c *Counter) Route(f *finding.Finding, stops func(*finding.Step) bool) ([]Stop, error) {
	if len(f.Witness) == 0 {
		return nil, ErrNoWitness
	}
	if tries(f) {
		return nil, ErrTries
	}
	var steps []finding.Step
	last := map[event.ThreadID]uint64{} // Seq of each thread's last step of the witness
	for i := range f.Witness {
		s := &f.Witness[i]
		if s.Seq == 0 {
			continue
		}
		last[s.Thread] = max(last[s.Thread], s.Seq)
		if Stops(s.Op, s.Flags) && stops(s) {
			steps = append(steps, *s)
		}
	}
	if f.Kind == finding.Race {
		// The threads go on to the accesses, which are not a part of the route.
		steps = slices.DeleteFunc(steps, func(s finding.Step) bool {
			return slices.ContainsFunc(f.Evidence, func(e finding.Step) bool { return e.Seq == s.Seq })
		})
	}
	steps = steps[max(0, len(steps)-maxStops):]
	out := turns(steps)
	if len(out) == 0 {
		return nil, ErrNoWitness
	}
	return append(out, c.overtaken(f, out, last, stops)...), nil
}

// Stops reports whether a thread comes to the operation of an event by an instruction of its own, which does nothing else
// that is an event.
func Stops(op event.Op, flags event.Flags) bool {
	if flags&(event.Inferred|event.Late|event.Past|event.Watched|event.Kernel|event.Freed) != 0 {
		return false
	}
	switch op {
	case event.Acquire, event.AcquireRead:
		return flags&event.InCondWait == 0
	case event.Read, event.Write, event.Update, event.AcquireFailed, event.Release, event.Join, event.Signal, event.Broadcast,
		event.BarrierArrive, event.SemPost, event.SemWait, event.SemFailed, event.OnceEnter, event.Call, event.Return:
		return true
	}
	return false
}

// Returns reports whether the operation of an event, which a call does, is done when the call has returned. Others are
// when it has begun: a thread waits at a barrier, or for a condition, until others come, and a Release is what others
// wait for.
func Returns(op event.Op, flags event.Flags) bool {
	return op != event.BarrierArrive && op != event.Release && flags&event.InCondWait == 0
}

// turns returns the stops at which the witness goes on with another thread.
func turns(steps []finding.Step) (out []Stop) {
	since := map[event.ThreadID]uint64{}
	for i := range steps {
		s := &steps[i]
		first := i == 0 || steps[i-1].Thread != s.Thread
		if !first && i+1 < len(steps) && steps[i+1].Thread == s.Thread {
			continue
		}
		stop := Stop{Step: *s, Since: since[s.Thread]}
		if first && len(out) > 0 {
			stop.Behind = []int{len(out) - 1}
		}
		since[s.Thread] = s.Seq
		out = append(out, stop)
	}
	return out
}

// overtaken returns a stop for each thread that in the run did something that the witness leaves out, before the first
// such operation: it waits for the end of the witness.
func (c *Counter) overtaken(f *finding.Finding, witness []Stop, last map[event.ThreadID]uint64, stops func(*finding.Step) bool) (out []Stop) {
	end := len(witness) - 1
	first := map[event.ThreadID]finding.Step{}
	note := func(s finding.Step) {
		if old, known := first[s.Thread]; s.Seq > last[s.Thread] && (!known || s.Seq < old.Seq) {
			first[s.Thread] = s
		}
	}
	for _, s := range slices.Concat(f.Observed, f.Evidence) {
		if s.Seq > 0 && Stops(s.Op, s.Flags) && stops(&s) {
			note(s)
		}
	}
	for t := range c.hits {
		if s, ok := c.next(t, max(last[t], f.Witness[0].Seq), stops); ok {
			note(s)
		}
	}
	delete(first, witness[end].Step.Thread) // what it does after the witness cannot come before its end
	if f.Kind == finding.Race {
		for i := range f.Evidence {
			delete(first, f.Evidence[i].Thread)
		}
	}
	since := map[event.ThreadID]uint64{}
	for i := range witness {
		since[witness[i].Step.Thread] = witness[i].Step.Seq
	}
	for t, s := range first {
		out = append(out, Stop{Step: s, Since: since[t], Behind: []int{end}, After: true})
	}
	slices.SortFunc(out, func(a, b Stop) int { return cmp.Compare(a.Step.Thread, b.Step.Thread) })
	return out
}
