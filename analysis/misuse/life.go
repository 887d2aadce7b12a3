package misuse

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// creations records the creations, ends and joins of threads.
type creations struct {
	// joinable holds the threads that are certainly joinable and that no thread has joined or
	// detached yet.
	joinable map[event.ThreadID]*creation
	// processes maps a living thread to the first thread of its process, as far as it is certain
	// that it was created as a thread and not as a process.
	processes map[event.ThreadID]event.ThreadID
	exited    event.ThreadID // first thread of the last process that exited without being killed by a signal
	forks     recentSteps    // the latest forks
	partings  recentSteps    // the latest joins and detaches
	// refusedJoins holds the failed joins whose cause only later events show.
	refusedJoins []step
	// inferredEnd is the last end of a thread that was inferred, not recorded, with the locks that
	// the thread held. If the next event is a join of the thread, the thread did end by itself.
	inferredEnd struct {
		step    step
		removed []removal
	}
}

// creation is the creation of a thread.
type creation struct {
	step    step
	process event.ThreadID // the first thread of its process
	ended   step           // the end of the thread; op is None while it lives
}

const (
	maxJoinable     = 1 << 14 // bounds creations.joinable
	maxRefusedJoins = 1 << 10 // bounds creations.refusedJoins
)

func newCreations() creations {
	return creations{joinable: map[event.ThreadID]*creation{}, processes: map[event.ThreadID]event.ThreadID{}}
}

func (m *creations) remember(n *event.Names) {
	for id, x := range m.joinable {
		n.AddThread(id)
		n.AddThread(x.step.thread)
	}
	n.AddThread(m.inferredEnd.step.thread)
	for _, h := range m.inferredEnd.removed {
		n.AddObject(h.acquire.object)
	}
	for i := range m.refusedJoins {
		n.AddThread(m.refusedJoins[i].thread)
		n.AddThread(m.refusedJoins[i].peer)
	}
	m.forks.remember(n)
	m.partings.remember(n)
}

// life processes the creation, the end and the joining of threads.
func (a *Analysis) life(t *thread, e *event.Event) {
	switch e.Op {
	case event.Fork:
		a.creations.fork(stepOf(e))
	case event.Detach:
		delete(a.creations.joinable, e.Peer)
		if e.Flags&event.Inferred == 0 {
			a.creations.partings.add(stepOf(e))
		}
	case event.DetachAgain:
		if before, ok := a.creations.partings.last(func(p *step) bool { return p.peer == e.Peer }); ok {
			a.report(finding.DetachTwice, stepOf(e), before)
		}
	case event.Join:
		a.joined(stepOf(e))
	case event.JoinFailed:
		a.joinFailed(e)
	case event.End:
		a.end(t, e)
	}
}

func (m *creations) fork(s step) {
	m.forks.add(s)
	if s.flags&event.Joinable == 0 {
		return
	}
	process := m.processOf(s.thread)
	m.processes[s.peer] = process
	if len(m.joinable) < maxJoinable {
		m.joinable[s.peer] = &creation{step: s, process: process}
	}
}

// processOf returns the first thread of a thread's process.
func (m *creations) processOf(id event.ThreadID) event.ThreadID { return cmp.Or(m.processes[id], id) }

// joined processes a join that succeeded.
func (a *Analysis) joined(s step) {
	m := &a.creations
	delete(m.joinable, s.peer)
	m.partings.add(s)
	if m.inferredEnd.step.thread == s.peer && m.inferredEnd.step.seq == s.seq-1 {
		for _, h := range m.inferredEnd.removed {
			a.report(finding.ExitHolding, m.inferredEnd.step, h.acquire)
		}
	}
	m.refusedJoins = slices.DeleteFunc(m.refusedJoins, func(r step) bool {
		if r.peer != s.peer {
			return false
		}
		a.report(finding.JoinTwice, r, s)
		return true
	})
}

// joinFailed processes a join that failed. The error number alone does not show the cause: EINVAL
// is returned for detached threads and for those that another thread is joining.
func (a *Analysis) joinFailed(e *event.Event) {
	const noThread, invalid, deadlock = 3, 22, 35
	s, m := stepOf(e), &a.creations
	before, parted := m.partings.last(func(p *step) bool { return p.peer == e.Peer })
	switch {
	case e.Peer == 0:
	case e.Value == deadlock && e.Peer == e.Thread:
		a.report(finding.JoinSelf, s)
	case e.Value != noThread && e.Value != invalid:
	case parted && before.op == event.Join:
		a.report(finding.JoinTwice, s, before)
	case parted:
		a.report(finding.JoinDetached, s, before)
	case e.Value == invalid && len(m.refusedJoins) < maxRefusedJoins:
		m.refusedJoins = append(m.refusedJoins, s)
	}
}

// end processes the end of a thread. The locks that it held were removed from it by the events
// just before.
func (a *Analysis) end(t *thread, e *event.Event) {
	s, m := stepOf(e), &a.creations
	if t.wait != nil {
		for i := range t.wait.waiters {
			if w := &t.wait.waiters[i]; w.step.thread == t.id {
				a.reportForgotten(w)
			}
		}
	}
	a.leaveWait(t, false)
	switch {
	case e.Flags&event.WithProcess != 0:
		delete(m.joinable, t.id)
		if e.Value&0x7f == 0 { // the process was not killed by a signal
			a.reportUnjoined(m.processOf(t.id))
		}
	case e.Flags&event.Inferred != 0:
		m.inferredEnd.step, m.inferredEnd.removed = s, a.heldAtEnd(t)
	default:
		for _, h := range a.heldAtEnd(t) {
			a.report(finding.ExitHolding, s, h.acquire)
		}
	}
	if x := m.joinable[t.id]; x != nil {
		x.ended = s
	}
	a.clearRemoved(t)
	delete(m.processes, t.id)
	delete(a.threads, t.id)
	a.threadCache[t.id%cacheSize] = nil
}

// quitHolding reports that a thread has ended the process while it held a lock that another thread used.
func (a *Analysis) quitHolding(e *event.Event) {
	h := a.held(e)
	if h == nil || a.anyRobust || a.withAttributes[e.Object] {
		return
	}
	a.reportDoubted(reason.PerhapsOnPurpose, finding.ExitHolding, stepOf(e), acquireBy(e.Thread, h))
}

// heldAtEnd returns the locks that a thread wrongly still holds at its end.
func (a *Analysis) heldAtEnd(t *thread) []removal {
	if a.anyRobust {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.removed), func(r removal) bool {
		return r.releasedByOther || a.withAttributes[r.acquire.object] || r.acquire.flags&(event.Inferred|event.HasValue) == event.Inferred
	})
}

// reportUnjoined reports, when a process ends, its threads that have ended before and that no
// thread joined or detached.
func (a *Analysis) reportUnjoined(process event.ThreadID) {
	m := &a.creations
	if m.exited == process {
		return // another thread of the process has already reported them
	}
	m.exited = process
	for _, id := range slices.Sorted(maps.Keys(m.joinable)) {
		if x := m.joinable[id]; x.process == process && x.ended.op != event.None {
			a.report(finding.NeverJoined, x.step, x.ended)
			delete(m.joinable, id)
		}
	}
}

// reportDetached reports, at the end of the run, the failed joins of threads that no recorded event
// detached or joined: such a thread was created detached.
func (a *Analysis) reportDetached() {
	m := &a.creations
	for _, s := range m.refusedJoins {
		if fork, ok := m.forks.last(func(p *step) bool { return p.peer == s.peer }); ok {
			a.report(finding.JoinDetached, s, fork)
		}
	}
	m.refusedJoins = nil
}
