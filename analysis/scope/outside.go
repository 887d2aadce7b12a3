package scope

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// This file has local properties that are monitored elsewhere, in the threads themselves: their events are no events of
// the run, and each action brings what the threads have done in the region that it ends.

// Outside returns the results of the region that an action ends; of the last region with the zero Action. An error says
// why they are not known: then the scope is judged no further.
type Outside func(Action) (*Results, error)

// Action says which event a synchronising action is.
type Action struct {
	Time   uint64 // as of the event
	Thread event.ThreadID
}

// Results are the verdicts of one region. The threads that are left out have had no event that changed a verdict.
type Results struct {
	Region  uint64
	Threads []ThreadResult
}

// ThreadResult has the verdicts of a thread, by Scope.Locals, as if it were of the type of each. They do not change
// until the next results are asked for.
type ThreadResult struct {
	Thread   event.ThreadID
	Named    bool // it was named behind an event of these
	Verdicts []Verdict
}

// Stopped says from which region on a scope was not judged, and why; ok is false if all regions were.
func (m *Monitor) Stopped() (region uint64, why error, ok bool) {
	return m.region, m.stopped, m.stopped != nil
}

// ask returns the results of the present region, nil if its events are events of the run. Ok is false if they are not known.
func (m *Monitor) ask(action Action) (r *Results, ok bool) {
	if m.o.Outside == nil {
		return nil, true
	}
	r, err := m.o.Outside(action)
	switch {
	case err != nil:
	case r.Region != m.region:
		err = fmt.Errorf("the results are those of region %d", r.Region)
	case slices.ContainsFunc(r.Threads, func(t ThreadResult) bool { return m.threads[t.Thread] == nil }):
		err = errors.New("they name a thread that is not known")
	case slices.ContainsFunc(r.Threads, func(t ThreadResult) bool { return t.Named && m.threads[t.Thread].gained == m.region+1 }):
		err = errors.New("a thread got its type with a name, and had events before that")
	}
	m.stopped = err
	return r, err == nil
}

// apply sets the verdicts of the present region, whose threads have their types.
func (m *Monitor) apply(r *Results) {
	for _, x := range r.Threads {
		t := m.threads[x.Thread]
		for i := range m.s.Locals {
			if l := &m.s.Locals[i]; t.types[l.Type] {
				t.locals[i].written = true
				m.set(i, &t.locals[i], x.Verdicts[i])
			}
		}
		m.touch(t)
	}
}
