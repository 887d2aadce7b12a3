package goodlock

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxExplained bounds the number of cycles explained.
const maxExplained = 1000

// explain searches for cycles of patterns without regard to whether they can occur, and calls
// Options.Explain for those that cannot.
func (a *Analysis) explain() {
	s := a.newSearch()
	s.tied = true
	reported := 0
	var possible bool
	s.found = func([]*pattern, []*instance) { possible, s.tuples = true, maxTuples }
	s.closed = func(ring []*pattern) {
		if s.tuples, possible = 0, false; !gated(ring) {
			s.choose(0)
		}
		if possible || s.steps < 0 {
			return // the cycle can occur, or the budget ended before this was decided
		}
		if reported++; reported <= maxExplained {
			a.opts.Explain(a.pruned(ring))
		}
	}
	s.run()
	a.explainLimits(s, reported)
}

// explainLimits calls Options.Explain for the cycles that were not searched for or are not
// explained.
func (a *Analysis) explainLimits(s *search, reported int) {
	tell := func(format string, args ...any) {
		a.opts.Explain(finding.Pruned{Kind: finding.Deadlock, Why: finding.Budget, Reason: fmt.Sprintf(format, args...)})
	}
	if s.steps < 0 {
		tell("the search for rings of locks ended after %d steps, at rings of %d threads", a.opts.Budget, s.length)
	} else if s.deeper {
		tell("rings of more than %d threads were not looked for", a.opts.MaxThreads)
	}
	if n := a.stats.DroppedEdges; n > 0 {
		tell("%d acquisitions were in nestings of locks for which there was no room", n)
	}
	if reported > maxExplained {
		tell("%d more rings were dropped", reported-maxExplained)
	}
}

func gated(ring []*pattern) bool {
	for i, p := range ring {
		for _, q := range ring[:i] {
			if p.gate(q) != 0 {
				return true
			}
		}
	}
	return false
}

func (a *Analysis) pruned(ring []*pattern) finding.Pruned {
	p := finding.Pruned{Kind: finding.Deadlock, Why: finding.Ordered}
	choice, distinct := distinctThreads(ring)
	for i, q := range ring {
		p.Evicted = p.Evicted || q.evicted
		p.Evidence = append(p.Evidence, choice[i].step(q, choice[i].first))
		p.Objects = append(p.Objects, q.wanted.Lock())
	}
	if !distinct {
		p.Why = finding.OneThread
		return p
	}
	for i, q := range ring {
		for j, r := range ring[:i] {
			if g := q.gate(r); g != 0 {
				p.Why, p.Lock = finding.GateLock, g
				return p
			}
			if g := guard(q, choice[i].thread, r, choice[j].thread); g != 0 {
				p.Why, p.Lock = finding.ParentGateLock, g
			} else if by := a.orders(choice[i], choice[j]); by.Op != event.None {
				p.By = by
			}
		}
	}
	return p
}

// orders returns the fork or join that puts one of the two before the other; the step has no Op if
// there is none.
func (a *Analysis) orders(x, y *instance) finding.Step {
	switch {
	case x.last.epoch <= y.clock.at(x.slot):
		return a.between(x, x.last, y, y.last)
	case y.last.epoch <= x.clock.at(y.slot):
		return a.between(y, y.last, x, x.last)
	}
	return finding.Step{}
}

// between returns the join of x's thread if y's thread knows of it, otherwise the fork by x's
// thread that created y's thread or an ancestor of it.
func (a *Analysis) between(x *instance, i moment, y *instance, j moment) finding.Step {
	if l := x.thread.reaped; l.op != event.None && (l.by == y.thread.id && l.epoch < j.epoch || l.epoch <= y.clock.at(l.slot)) {
		return l.step(x.thread.id)
	}
	for c := y.thread; c != nil; c = a.threads[c.born.by] {
		if l := c.born; l.by == x.thread.id && i.epoch < l.epoch {
			return l.step(c.id)
		}
	}
	return finding.Step{}
}

// link is the fork or the join of a thread.
type link struct {
	op        event.Op // None: not seen
	by        event.ThreadID
	place     event.StackID
	slot      uint32
	epoch     event.Epoch
	seq, time uint64
}

func linkOf(e *event.Event) link {
	return link{op: e.Op, by: e.Thread, place: e.Stack, slot: e.Slot, epoch: e.Epoch, seq: e.Seq, time: e.Time}
}

func (l link) step(of event.ThreadID) finding.Step {
	return finding.Step{Seq: l.seq, Time: l.time, Thread: l.by, Op: l.op, Peer: of, Stack: l.place}
}

// distinctThreads chooses an instance for each pattern such that no two belong to one thread, by
// augmenting paths (Kuhn). It returns false if that is not possible.
func distinctThreads(ring []*pattern) (choice []*instance, ok bool) {
	choice = make([]*instance, len(ring))
	taken := map[*thread]int{}
	ok = true
	for i := range ring {
		if !assign(ring, choice, taken, i, map[*thread]bool{}) {
			choice[i], ok = ring[i].kept[0], false
		}
	}
	return choice, ok
}

func assign(ring []*pattern, choice []*instance, taken map[*thread]int, i int, tried map[*thread]bool) bool {
	for _, x := range ring[i].kept {
		if tried[x.thread] {
			continue
		}
		tried[x.thread] = true
		if j, used := taken[x.thread]; used && !assign(ring, choice, taken, j, tried) {
			continue
		}
		taken[x.thread], choice[i] = i, x
		return true
	}
	return false
}
