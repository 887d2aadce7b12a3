package goodlock

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxExplained bounds the number of cycles explained.
const maxExplained = 1000

// explain searches for cycles of edges without regard to whether they can occur, and calls
// Options.Explain for those that cannot.
func (a *Analysis) explain() {
	s := a.newSearch()
	s.ignoreConcurrency = true
	reported := 0
	var possible bool
	s.onChoice = func([]*edge, []*instance) { possible, s.tuples = true, maxTuples }
	s.onCycle = func(cycle []*edge) {
		if s.tuples, possible = 0, false; s.spendGates(cycle) && !gated(cycle) {
			s.choose(0)
		}
		if possible || s.steps < 0 {
			return // the cycle can occur, or the budget ended before this was decided
		}
		if reported++; reported <= maxExplained {
			a.opts.Explain(a.pruned(cycle))
		}
	}
	s.run()
	a.explainLimits(s, reported)
}

// explainLimits calls Options.Explain for the cycles that were not searched for or are not
// explained.
func (a *Analysis) explainLimits(s *search, reported int) {
	add := func(why reason.Reason) {
		a.opts.Explain(finding.Pruned{Kind: finding.Deadlock, Why: finding.Budget, Reason: why})
	}
	if s.steps < 0 {
		add(reason.Reason{What: reason.SearchEnded, Count: uint64(a.opts.Budget), Length: s.length})
	} else if s.extendable {
		add(reason.Reason{What: reason.LongerCycles, Length: a.opts.MaxThreads})
	}
	if n := a.stats.DroppedEdges; n > 0 {
		add(reason.Reason{What: reason.NoRoom, Count: uint64(n)})
	}
	if reported > maxExplained {
		add(reason.Reason{What: reason.CyclesDropped, Count: uint64(reported - maxExplained)})
	}
}

// gateNodesPerStep is the number of held locks that are compared for one step of the budget.
const gateNodesPerStep = 4

// spendGates subtracts what it costs to compare the held locks of each two edges of a cycle.
func (s *search) spendGates(cycle []*edge) bool {
	locks := 0
	for _, p := range cycle {
		locks += int(p.node.depth)
	}
	return s.spend(locks * len(cycle) / gateNodesPerStep)
}

// gated reports whether two edges of the cycle have a gate lock.
func gated(cycle []*edge) bool {
	for i, p := range cycle {
		for _, q := range cycle[:i] {
			if p.gate(q) != 0 {
				return true
			}
		}
	}
	return false
}

// pruned returns the cycle, which cannot occur, with the reason.
func (a *Analysis) pruned(cycle []*edge) finding.Pruned {
	p := finding.Pruned{Kind: finding.Deadlock, Why: finding.Ordered}
	choice, distinct := distinctThreads(cycle)
	for i, q := range cycle {
		p.Evicted = p.Evicted || q.evicted
		p.Evidence = append(p.Evidence, choice[i].step(q, choice[i].first))
		p.Objects = append(p.Objects, q.requested.Lock())
	}
	if !distinct {
		p.Why = finding.OneThread
		return p
	}
	for i, q := range cycle {
		for j, r := range cycle[:i] {
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

// orders returns the fork or join that orders the last requests of the two instances. The step has
// no Op if none is found.
func (a *Analysis) orders(x, y *instance) finding.Step {
	switch {
	case x.last.epoch <= y.clock.at(x.slot):
		return a.between(x, x.last, y, y.last)
	case y.last.epoch <= x.clock.at(y.slot):
		return a.between(y, y.last, x, x.last)
	}
	return finding.Step{}
}

// between returns what orders moment i of x before moment j of y: the join of x's thread if y's
// thread comes after it, otherwise the fork by x's thread that created y's thread or an ancestor of
// it. The step has no Op if neither is found.
func (a *Analysis) between(x *instance, i moment, y *instance, j moment) finding.Step {
	if l := x.thread.join; l.op != event.None && (l.by == y.thread.id && l.epoch < j.epoch || l.epoch <= y.clock.at(l.slot)) {
		return l.step(x.thread.id)
	}
	for c := y.thread; c != nil; c = a.threads[c.fork.by] {
		if l := c.fork; l.by == x.thread.id && i.epoch < l.epoch {
			return l.step(c.id)
		}
	}
	return finding.Step{}
}

// link is the fork or the join of a thread.
type link struct {
	op        event.Op // None: not seen
	by        event.ThreadID
	stack     event.StackID
	slot      uint32
	epoch     event.Epoch
	seq, time uint64
}

func linkOf(e *event.Event) link {
	return link{op: e.Op, by: e.Thread, stack: e.Stack, slot: e.Slot, epoch: e.Epoch, seq: e.Seq, time: e.Time}
}

// step returns the fork or join of the thread as evidence.
func (l link) step(of event.ThreadID) finding.Step {
	return finding.Step{Seq: l.seq, Time: l.time, Thread: l.by, Op: l.op, Peer: of, Stack: l.stack}
}

// distinctThreads chooses an instance for each edge such that no two belong to one thread, by
// augmenting paths (Kuhn). It returns false if that is not possible.
func distinctThreads(cycle []*edge) (choice []*instance, ok bool) {
	choice = make([]*instance, len(cycle))
	indexOf := map[*thread]int{}
	ok = true
	for i := range cycle {
		if !assign(cycle, choice, indexOf, i, map[*thread]bool{}) {
			choice[i], ok = cycle[i].instances[0], false
		}
	}
	return choice, ok
}

// assign chooses an instance for edge i of a thread that is not in tried, and moves other edges to
// other instances if that is needed. It reports whether it succeeded. indexOf has the edge of each
// thread used so far.
func assign(cycle []*edge, choice []*instance, indexOf map[*thread]int, i int, tried map[*thread]bool) bool {
	for _, x := range cycle[i].instances {
		if tried[x.thread] {
			continue
		}
		tried[x.thread] = true
		if j, used := indexOf[x.thread]; used && !assign(cycle, choice, indexOf, j, tried) {
			continue
		}
		indexOf[x.thread], choice[i] = i, x
		return true
	}
	return false
}
