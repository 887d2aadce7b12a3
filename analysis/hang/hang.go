// Package hang turns the events that a hang leaves in a trace into findings. Which threads wait
// for each other, without an end, was decided while the program ran (observer/stuck) and recorded
// as Holds and Blocked events, so a recorded trace has the same findings as the live run.
package hang

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Analysis turns Holds and Blocked events into findings: the hangs of the run. Memory is bounded
// by the number of hangs, of which maxFindings are kept, and of live conditions.
type Analysis struct {
	// held are, by thread, the Holds events of the hang that is being read; the Op of a step is the
	// mode of the lock.
	held    map[event.ThreadID][]finding.Step
	steps   []finding.Step                  // the Blocked events of that hang
	waits   map[event.ObjectID]int          // by condition: the number of threads in a wait
	signals map[event.ObjectID]finding.Step // by condition: the last signal when no thread waited
	found   []finding.Finding
}

// The bounds of memory; what exceeds them is not reported.
const (
	maxFindings = 1000
	maxSides    = 1 << 12 // threads of one finding
	maxHeld     = 64      // locks of one thread
)

// New returns an analysis.
func New() *Analysis {
	return &Analysis{held: map[event.ThreadID][]finding.Step{}, waits: map[event.ObjectID]int{}, signals: map[event.ObjectID]finding.Step{}}
}

// Event processes the next event of the run; finding.Analysis.
func (a *Analysis) Event(e *event.Event) {
	switch e.Op {
	case event.Holds:
		if held := a.held[e.Thread]; len(held) < maxHeld && (len(held) > 0 || len(a.held) < maxSides) {
			a.held[e.Thread] = append(held, holding(e))
		}
	case event.Blocked:
		a.blocked(e)
	case event.Wait:
		a.waits[e.Object]++
	case event.Wake:
		if a.waits[e.Object]--; a.waits[e.Object] <= 0 {
			delete(a.waits, e.Object)
		}
	case event.Signal, event.Broadcast:
		if a.waits[e.Object] == 0 {
			a.signals[e.Object] = step(e)
		}
	case event.Destroy:
		delete(a.waits, e.Object)
		delete(a.signals, e.Object)
	}
}

// Wants reports whether Event uses events of the operation.
func Wants(op event.Op) bool {
	switch op {
	case event.Holds, event.Blocked, event.Wait, event.Wake, event.Signal, event.Broadcast, event.Destroy:
		return true
	}
	return false
}

// step returns the event as evidence.
func step(e *event.Event) finding.Step {
	return finding.Step{Seq: e.Seq, Time: e.Time, Thread: e.Thread, Op: e.Op, Flags: e.Flags &^ (event.HasValue | event.Inferred), Object: e.Object, Peer: e.Peer, Stack: e.Stack}
}

// holding returns a step for a lock that a thread holds; its Op is Acquire or AcquireRead.
func holding(e *event.Event) finding.Step {
	s := step(e)
	s.Op = event.Op(e.Value)
	return s
}

// blocked processes a Blocked event. The last one of a hang completes its finding.
func (a *Analysis) blocked(e *event.Event) {
	s, attempt := step(e), e.Attempt()
	s.Op, s.Blocked, s.Readers = attempt.Op, true, attempt.Readers
	for i, h := range a.held[e.Thread] {
		s.Held, s.HeldAt = append(s.Held, h.Object), append(s.HeldAt, h.Stack)
		if h.Op == event.AcquireRead {
			s.HeldRead |= 1 << i
		}
	}
	if len(a.steps) < maxSides {
		a.steps = append(a.steps, s)
	}
	if attempt.Following > 0 {
		return
	}
	if len(a.found) < maxFindings {
		a.found = append(a.found, a.finding(attempt))
	}
	a.steps, a.held = nil, map[event.ThreadID][]finding.Step{}
}

// finding returns the finding of the hang that has been read; last is its last attempt, which
// describes the whole hang.
func (a *Analysis) finding(last event.Attempt) finding.Finding {
	f := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Observed, Evidence: a.steps, Count: 1}
	if last.Handlers {
		f.Confidence, f.Reason = finding.Potential, "the program has signal handlers, and one of them may end a wait"
	}
	if !last.Cycle {
		f.NoCycle = true
		f.Lost = a.lost()
	}
	for _, s := range a.steps {
		f.Threads = append(f.Threads, s.Thread)
		if s.Object != 0 {
			f.Objects = append(f.Objects, s.Object)
		}
		f.HasTimeout = f.HasTimeout || s.Flags&event.Timed != 0
	}
	if s := a.steps[0]; len(a.steps) == 1 && last.Cycle && s.Op.IsAcquire() && slices.Contains(s.Held, s.Object) {
		f.Kind, f.Rule = finding.Misuse, finding.Relock
	}
	return f
}

// lost returns, for each condition that threads of the hang wait on, the last signal sent when no
// thread waited.
func (a *Analysis) lost() []finding.Step {
	var lost []finding.Step
	seen := map[event.ObjectID]bool{}
	for _, s := range a.steps {
		if sent, ok := a.signals[s.Object]; ok && s.Op == event.Wait && !seen[s.Object] {
			seen[s.Object] = true
			lost = append(lost, sent)
		}
	}
	return lost
}

// Findings returns the hangs found so far, in the order of the run.
func (a *Analysis) Findings() []finding.Finding { return a.found }

// Finish returns the hangs of the run; finding.Analysis.
func (a *Analysis) Finish() []finding.Finding { return a.found }

// Remember adds the threads and objects that a finding may still name.
func (a *Analysis) Remember(n *event.Names) {
	for i := range a.found {
		for _, steps := range [][]finding.Step{a.found[i].Evidence, a.found[i].Lost} {
			for j := range steps {
				steps[j].Remember(n)
			}
		}
	}
	for _, s := range a.signals {
		s.Remember(n)
	}
}
