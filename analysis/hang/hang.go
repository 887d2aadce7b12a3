// Package hang turns the events that a hang leaves in a trace into findings. Which threads wait
// for each other, without an end, was decided while the program ran (observer/stuck) and recorded
// as Holds and Blocked events, so a recorded trace has the same findings as the live run.
package hang

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// analysis turns Holds and Blocked events into findings: the hangs of the run. Memory is bounded
// by the number of hangs, of which maxFindings are kept, and of live conditions.
type analysis struct {
	// held are, by thread, the Holds events of the hang that is being read; the Op of a step is the
	// mode of the lock.
	held    map[event.ThreadID][]finding.Step
	steps   []finding.Step                  // the Blocked events of that hang
	waits   map[event.ObjectID]int          // by condition: the number of threads in a wait
	signals map[event.ObjectID]finding.Step // by condition: the last signal when no thread waited
	found   []finding.Finding
	// withdrawn are the indices in found of the hangs that went on.
	withdrawn map[int]bool
	stuck     map[event.ThreadID][]wait // the waits without a time limit of the hangs that were found
	onGoesOn  func(*finding.Finding)
}

// wait is what a thread of a hang waits for.
type wait struct {
	hang   int // index in found
	op     event.Op
	object event.ObjectID
	peer   event.ThreadID
}

// The bounds of memory; what exceeds them is not reported.
const (
	maxFindings = 1000
	maxSides    = 1 << 12 // threads of one finding
	maxHeld     = 64      // locks of one thread
)

// newAnalysis returns an analysis. It calls onGoesOn, if that is not nil, for each hang that goes on after
// it was found.
func newAnalysis(onGoesOn func(*finding.Finding)) *analysis {
	return &analysis{onGoesOn: onGoesOn, withdrawn: map[int]bool{}, stuck: map[event.ThreadID][]wait{}, held: map[event.ThreadID][]finding.Step{}, waits: map[event.ObjectID]int{}, signals: map[event.ObjectID]finding.Step{}}
}

// Event processes the next event of the run; finding.Analysis.
func (a *analysis) Event(e *event.Event) {
	if len(a.stuck) > 0 {
		a.goesOn(e)
	}
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

// goesOn withdraws the hangs in which the thread of an event waited, if the event shows that its
// wait has ended: something that was not seen ended it. The end of the whole process does not.
func (a *analysis) goesOn(e *event.Event) {
	for _, w := range a.stuck[e.Thread] {
		if w.endedBy(e) {
			a.withdraw(w.hang)
			a.goesOn(e)
			return
		}
	}
}

// endedBy reports whether an event of the thread shows that its wait has ended.
func (w wait) endedBy(e *event.Event) bool {
	if e.Flags&(event.Inferred|event.WithProcess) != 0 {
		return false
	}
	switch e.Op {
	case event.Holds, event.Blocked:
		return false
	case event.End:
		return true
	case event.Acquire, event.AcquireRead, event.AcquireFailed:
		return w.op.IsAcquire() && e.Object == w.object
	case event.Wake:
		return w.op == event.Wait && e.Object == w.object
	case event.SemWait, event.SemFailed:
		return w.op == event.SemWait && e.Object == w.object
	case event.BarrierDepart:
		return w.op == event.BarrierArrive && e.Object == w.object
	case event.Join, event.JoinFailed:
		return w.op == event.Join && (w.peer == 0 || e.Peer == w.peer)
	}
	return w.op == event.None // it is not known what it waited for
}

func (a *analysis) withdraw(hang int) {
	a.withdrawn[hang] = true
	for t, waits := range a.stuck {
		if waits = slices.DeleteFunc(waits, func(w wait) bool { return w.hang == hang }); len(waits) > 0 {
			a.stuck[t] = waits
		} else {
			delete(a.stuck, t)
		}
	}
	if a.onGoesOn != nil {
		a.onGoesOn(&a.found[hang])
	}
}

// wants reports whether Event uses the event.
func (a *analysis) wants(e *event.Event) bool {
	if len(a.stuck) > 0 && a.stuck[e.Thread] != nil {
		return true
	}
	switch e.Op {
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
func (a *analysis) blocked(e *event.Event) {
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
		a.watch(len(a.found) - 1)
	}
	a.steps, a.held = nil, map[event.ThreadID][]finding.Step{}
}

// watch begins to look whether the hang goes on. One with a time limit is known to.
func (a *analysis) watch(hang int) {
	f := &a.found[hang]
	if f.HasTimeout {
		return
	}
	for _, s := range f.Evidence {
		a.stuck[s.Thread] = append(a.stuck[s.Thread], wait{hang: hang, op: s.Op, object: s.Object, peer: s.Peer})
	}
}

// finding returns the finding of the hang that has been read; last is its last attempt, which
// describes the whole hang.
func (a *analysis) finding(last event.Attempt) finding.Finding {
	f := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Observed, Evidence: a.steps, Count: 1}
	if last.Handlers {
		f.Confidence, f.Reason = finding.Potential, reason.Reason{What: reason.Handlers}
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
func (a *analysis) lost() []finding.Step {
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

// findings returns the hangs found so far, in the order of the run, with those that went on.
func (a *analysis) findings() []finding.Finding { return a.found }

// Finish returns the hangs of the run that did not go on; finding.Analysis.
func (a *analysis) Finish() []finding.Finding {
	var lasting []finding.Finding
	for i := range a.found {
		if !a.withdrawn[i] {
			lasting = append(lasting, a.found[i])
		}
	}
	return lasting
}

// wentOn returns the number of hangs that went on.
func (a *analysis) wentOn() int { return len(a.withdrawn) }

// Remember adds the threads and objects that a finding may still name.
func (a *analysis) Remember(n *event.Names) {
	for i := range a.found {
		a.found[i].Remember(n)
	}
	for _, s := range a.signals {
		s.Remember(n)
	}
}
