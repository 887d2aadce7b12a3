// Package hang makes findings of the events that a hang leaves in a run: which threads
// wait for each other for ever was decided while the program ran (observer/stuck), and
// written as Holds and Blocked events, so that a recorded trace has the same findings.
package hang

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Analysis makes findings of Holds and Blocked events: the hangs of the run. Memory
// is bounded by the hangs, of which maxFindings are kept, and by the conditions that live.
type Analysis struct {
	held    map[event.ThreadID][]finding.Step // of the hang that is being recorded; Op says how
	steps   []finding.Step
	waits   map[event.ObjectID]int          // threads in waits on a condition
	signals map[event.ObjectID]finding.Step // the last of each condition on which nobody waited then
	found   []finding.Finding
}

const (
	maxFindings = 1000
	maxSides    = 1 << 12 // threads of one finding
	maxHeld     = 64      // locks of one thread
)

// New makes an analysis.
func New() *Analysis {
	return &Analysis{held: map[event.ThreadID][]finding.Step{}, waits: map[event.ObjectID]int{}, signals: map[event.ObjectID]finding.Step{}}
}

// Event implements finding.Analysis.
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

// Wants reports whether an event of the operation is anything to the analysis.
func Wants(op event.Op) bool {
	switch op {
	case event.Holds, event.Blocked, event.Wait, event.Wake, event.Signal, event.Broadcast, event.Destroy:
		return true
	}
	return false
}

func step(e *event.Event) finding.Step {
	return finding.Step{Seq: e.Seq, Time: e.Time, Thread: e.Thread, Op: e.Op, Flags: e.Flags &^ (event.HasValue | event.Inferred), Object: e.Object, Peer: e.Peer, Place: e.Stack}
}

// holding is how a lock is held: Acquire, or AcquireRead.
func holding(e *event.Event) finding.Step {
	s := step(e)
	s.Op = event.Op(e.Value)
	return s
}

func (a *Analysis) blocked(e *event.Event) {
	s, attempt := step(e), e.Attempt()
	s.Op, s.Blocked, s.Readers = attempt.Op, true, attempt.Readers
	for i, h := range a.held[e.Thread] {
		s.Held, s.HeldAt = append(s.Held, h.Object), append(s.HeldAt, h.Place)
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

// finding makes a finding of the threads of one hang; last is what its last one attempts.
func (a *Analysis) finding(last event.Attempt) finding.Finding {
	f := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Observed, Evidence: a.steps, Count: 1}
	if last.Handlers {
		f.Confidence, f.Reason = finding.Potential, "the program has signal handlers, and one of them may end a wait"
	}
	if !last.Cycle {
		f.Nobody = true
		f.Lost = a.lost()
	}
	for _, s := range a.steps {
		f.Threads = append(f.Threads, s.Thread)
		if s.Object != 0 {
			f.Objects = append(f.Objects, s.Object)
		}
		f.Bounded = f.Bounded || s.Flags&event.Timed != 0
	}
	if s := a.steps[0]; len(a.steps) == 1 && last.Cycle && s.Op.IsAcquire() && slices.Contains(s.Held, s.Object) {
		f.Kind, f.Rule = finding.Misuse, finding.Relock
	}
	return f
}

// lost are the last signals, with nobody to hear, of the conditions that threads wait on.
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

// Finish implements finding.Analysis.
func (a *Analysis) Finish() []finding.Finding { return a.found }

// Remember adds what a finding may still name.
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
