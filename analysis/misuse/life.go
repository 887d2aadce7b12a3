package misuse

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// makings records the creations, ends and joins of threads.
type makings struct {
	// open are the threads that are certainly joinable and that no thread has joined or detached
	// yet.
	open map[event.ThreadID]*making
	// family maps a living thread to the first thread of its process, as far as it is certain that
	// it was created as a thread and not as a process.
	family map[event.ThreadID]event.ThreadID
	over   event.ThreadID // the family whose process was the last to exit not killed by a signal
	made   ring           // the latest forks
	parted ring           // the latest joins and detaches
	// refused are failed joins whose cause only later events show.
	refused []step
	// ended is the last end of a thread that was inferred, not recorded, with the locks that the
	// thread held. If the next event is a join of the thread, the thread did end by itself.
	ended struct {
		step step
		held []removal
	}
}

// making is the creation of a thread.
type making struct {
	step   step
	family event.ThreadID
	ended  step // the end of the thread; op is None while it lives
}

const (
	maxOpen    = 1 << 14 // bounds makings.open
	maxRefused = 1 << 10
)

func newMakings() makings {
	return makings{open: map[event.ThreadID]*making{}, family: map[event.ThreadID]event.ThreadID{}}
}

func (m *makings) remember(n *event.Names) {
	for id, x := range m.open {
		n.Thread(id)
		n.Thread(x.step.thread)
	}
	n.Thread(m.ended.step.thread)
	for _, h := range m.ended.held {
		n.Object(h.acquire.object)
	}
	for i := range m.refused {
		n.Thread(m.refused[i].thread)
		n.Thread(m.refused[i].peer)
	}
	m.made.remember(n)
	m.parted.remember(n)
}

// life processes the creation, the end and the joining of threads.
func (a *Analysis) life(t *thread, e *event.Event) {
	switch e.Op {
	case event.Fork:
		a.makings.fork(stepOf(e))
	case event.Detach:
		delete(a.makings.open, e.Peer)
		if e.Flags&event.Inferred == 0 {
			a.makings.parted.add(stepOf(e))
		}
	case event.DetachAgain:
		if before, ok := a.makings.parted.last(func(p *step) bool { return p.peer == e.Peer }); ok {
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

func (m *makings) fork(s step) {
	m.made.add(s)
	if s.flags&event.Joinable == 0 {
		return
	}
	family := m.familyOf(s.thread)
	m.family[s.peer] = family
	if len(m.open) < maxOpen {
		m.open[s.peer] = &making{step: s, family: family}
	}
}

func (m *makings) familyOf(id event.ThreadID) event.ThreadID { return cmp.Or(m.family[id], id) }

// joined processes a join that succeeded.
func (a *Analysis) joined(s step) {
	m := &a.makings
	delete(m.open, s.peer)
	m.parted.add(s)
	if m.ended.step.thread == s.peer && m.ended.step.seq == s.seq-1 {
		for _, h := range m.ended.held {
			a.report(finding.ExitHolding, m.ended.step, h.acquire)
		}
	}
	m.refused = slices.DeleteFunc(m.refused, func(r step) bool {
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
	s, m := stepOf(e), &a.makings
	before, parted := m.parted.last(func(p *step) bool { return p.peer == e.Peer })
	switch {
	case e.Peer == 0:
	case e.Value == deadlock && e.Peer == e.Thread:
		a.report(finding.JoinSelf, s)
	case e.Value != noThread && e.Value != invalid:
	case parted && before.op == event.Join:
		a.report(finding.JoinTwice, s, before)
	case parted:
		a.report(finding.JoinDetached, s, before)
	case e.Value == invalid && len(m.refused) < maxRefused:
		m.refused = append(m.refused, s)
	}
}

// end processes the end of a thread. The locks that it held were removed from it by the events
// just before.
func (a *Analysis) end(t *thread, e *event.Event) {
	s, m := stepOf(e), &a.makings
	a.leaveWait(t, false)
	switch {
	case e.Flags&event.WithProcess != 0:
		delete(m.open, t.id)
		if e.Value&0x7f == 0 { // the process was not killed by a signal
			a.unjoined(m.familyOf(t.id))
		}
	case e.Flags&event.Inferred != 0:
		m.ended.step, m.ended.held = s, a.kept(t)
	default:
		for _, h := range a.kept(t) {
			a.report(finding.ExitHolding, s, h.acquire)
		}
	}
	if x := m.open[t.id]; x != nil {
		x.ended = s
	}
	a.acts(t)
	delete(m.family, t.id)
	delete(a.threads, t.id)
	a.threadCache[t.id%cacheSize] = nil
}

// kept returns the locks that a thread wrongly still holds at its end.
func (a *Analysis) kept(t *thread) []removal {
	if a.robust {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.removed), func(r removal) bool {
		return r.releasedByOther || a.special[r.acquire.object] || r.acquire.flags&(event.Inferred|event.HasValue) == event.Inferred
	})
}

// unjoined reports, when a process ends, its threads that have ended before and that no thread
// joined or detached.
func (a *Analysis) unjoined(family event.ThreadID) {
	m := &a.makings
	if m.over == family {
		return // another thread of the process has already reported them
	}
	m.over = family
	for _, id := range slices.Sorted(maps.Keys(m.open)) {
		if x := m.open[id]; x.family == family && x.ended.op != event.None {
			a.report(finding.NeverJoined, x.step, x.ended)
			delete(m.open, id)
		}
	}
}

// detached reports, at the end of the run, the failed joins of threads that no recorded event
// detached or joined: such a thread was created detached.
func (a *Analysis) detached() {
	m := &a.makings
	for _, s := range m.refused {
		if made, ok := m.made.last(func(p *step) bool { return p.peer == s.peer }); ok {
			a.report(finding.JoinDetached, s, made)
		}
	}
	m.refused = nil
}
