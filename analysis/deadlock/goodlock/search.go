package goodlock

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// The search for cycles. The definition: take all sequences of edges in which each requests a
// lock that the next holds, and the last one a lock of the first; for each, take all choices of
// one instance of each edge such that the instances are pairwise concurrent: their threads can be
// at their requests at the same time, since they are distinct, hold no lock in common, and neither
// request is ordered before the other. That is exponential. So the search drops edges that are in
// no cycle, starts each cycle at its oldest edge, stays within one component of the graph of locks,
// extends a path only with an edge that has instances concurrent with instances of each edge of the
// path, searches for short cycles first, and has a budget. TestAgainstBruteForce compares it with
// the definition.

type search struct {
	a                 *Analysis
	writers           map[event.ObjectID][]*edge              // by lock: the writers that its readers wait behind
	concurrentEdges   map[[2]int]bool                         // by ids of two edges: the result of edgesConcurrent
	steps             int                                     // left of the budget
	path              []*edge                                 // the path of edges followed
	choice            []*instance                             // the instances chosen for path so far
	length            int                                     // of the cycles being searched for
	extendable        bool                                    // there may be longer cycles than length
	tuples            int                                     // number of choices found for the current cycle
	ignoreConcurrency bool                                    // edges of a cycle need not be concurrent
	onChoice          func(cycle []*edge, choice []*instance) // called with each choice of instances
	onCycle           func(cycle []*edge)                     // called with each cycle of edges
	bounds            cycleBounds
}

const (
	// maxTuples bounds the choices of instances that are found for one cycle of edges.
	maxTuples = 256
	// reportCost is the cost of a report in steps of about 100 ns, as profiled.
	reportCost = 64
	// comparisonsPerStep is the number of pairs of instances that are compared for one step of
	// the budget.
	comparisonsPerStep = 8
	// nodesPerStep is the number of nodes that are visited on the way from one to a root, or down from
	// it, for one step of the budget.
	nodesPerStep = 64
	// fewComparisons is the number of pairs of instances up to which the result is not cached.
	fewComparisons = 8
)

func (a *Analysis) newSearch() *search {
	return &search{a: a, concurrentEdges: map[[2]int]bool{}, steps: a.opts.Budget}
}

// search finds the cycles among the edges in memory and merges them into the reports.
func (a *Analysis) search() {
	enough, all := a.searchWith(a.opts.Budget)
	a.stats.BudgetHit = a.stats.BudgetHit || !enough
	a.stats.LongerCycles = a.stats.LongerCycles || enough && !all
}

// searchWith is search with another budget. It reports whether the budget was enough, and whether
// cycles of all lengths were searched for.
func (a *Analysis) searchWith(budget int) (enough, all bool) {
	s := a.newSearch()
	s.steps = budget
	s.onChoice = a.report
	s.onCycle = func(cycle []*edge) {
		s.tuples = 0
		s.choose(0)
	}
	s.run()
	return s.steps >= 0, !s.extendable
}

// spend subtracts n steps from the budget, and reports whether it was enough.
func (s *search) spend(n int) bool {
	s.steps -= n
	return s.steps >= 0
}

// run searches for cycles, first of two edges, then of more, until there can be no longer ones or
// the budget is spent.
func (s *search) run() {
	starts := s.candidates()
	s.bounds.steps = s.steps / 4
	for length := 2; s.a.opts.MaxThreads <= 0 || length <= s.a.opts.MaxThreads; length++ {
		s.length, s.extendable = length, false
		for _, p := range starts {
			now, later := s.mayClose(p, length)
			s.extendable = s.extendable || later
			if now && s.push(p) {
				s.extend()
				s.pop()
			}
		}
		if !s.extendable || s.steps < 0 {
			return
		}
	}
}

// candidates returns the edges that may be in a cycle. These are the edges that request a lock of the
// component (see components) of what they hold, and those of writers that a reader may wait behind
// for a lock that somebody holds.
func (s *search) candidates() []*edge {
	s.a.forest.components()
	read := map[event.ObjectID]bool{}
	for _, p := range s.a.edgesByID {
		if p.requested.Shared() && p.inComponent() {
			read[p.requested.Lock()] = true
		}
	}
	s.writers = map[event.ObjectID][]*edge{}
	return slices.DeleteFunc(slices.Clone(s.a.edgesByID), func(p *edge) bool {
		lock := p.requested.Lock()
		if !p.requested.Shared() && read[lock] && p.node.lock.held() && s.a.prefersWriters(lock) {
			s.writers[lock] = append(s.writers[lock], p)
			return false
		}
		return !p.inComponent()
	})
}

// inComponent reports whether the lock that p requests and one that p holds are in one component.
func (p *edge) inComponent() bool {
	above := p.node.parent
	return above.parent != nil && above.component == p.node.lock.component
}

// held reports whether some edge holds the lock.
func (l *usedLock) held() bool {
	return slices.ContainsFunc(l.nodes, func(n *node) bool { return n.first != nil })
}

// push adds an edge to the path. It reports whether the budget was enough; if not, the path stays
// as it is.
func (s *search) push(p *edge) bool {
	if !s.spend(int(p.node.depth) / nodesPerStep) {
		return false
	}
	s.path = append(s.path, p)
	hold(p.node.parent, 1)
	return true
}

// pop removes the last edge from the path.
func (s *search) pop() {
	last := len(s.path) - 1
	hold(s.path[last].node.parent, -1)
	s.path = s.path[:last]
}

// extend finds all cycles of s.length that begin with s.path.
func (s *search) extend() {
	if len(s.path) == s.length-1 {
		s.following(s.close)
		return
	}
	s.following(func(p *edge) bool {
		if s.spend(1) && s.canExtend(p) && s.push(p) {
			s.extend()
			s.pop()
		}
		return true
	})
}

// close calls onCycle if s.path and p are a cycle, and finds out whether there may be longer cycles.
// It always returns true.
func (s *search) close(p *edge) bool {
	first := s.path[0]
	closes := s.behind(p, first) || p.node.taken() && s.spend(int(first.node.depth)/nodesPerStep) && p.waitsFor(first)
	if !closes && s.extendable || !s.spend(1) || !s.canExtend(p) {
		return true
	}
	s.path = append(s.path, p)
	if closes && s.minimal() {
		s.onCycle(s.path)
	}
	s.path = s.path[:len(s.path)-1]
	if !s.extendable && s.push(p) {
		s.following(func(q *edge) bool {
			s.extendable = s.extendable || s.spend(1) && s.canExtend(q)
			return !s.extendable
		})
		s.pop()
	}
	return true
}

// following calls visit with the edges that can follow the last one of the path, later ones than the
// first and without a gate lock, until visit returns false.
func (s *search) following(visit func(*edge) bool) {
	first, last := s.path[0], s.path[len(s.path)-1]
	checked := func(p *edge) bool { return p.id <= first.id || visit(p) }
	for _, top := range last.node.lock.nodes {
		if top.m.Conflicts(last.requested) && s.free(top) && !s.below(top, checked) {
			return
		}
	}
	if !last.requested.Shared() {
		return
	}
	for _, p := range s.writers[last.requested.Lock()] {
		if s.behind(last, p) && s.free(p.node.parent) && !checked(p) {
			return
		}
	}
}

// below calls visit with the edges below a node that are in its component and have no gate lock in
// common with the path, until visit returns false or the budget is spent. It reports whether to go on.
func (s *search) below(top *node, visit func(*edge) bool) bool {
	var down bool
	for n, visited := top.first, 1; n != nil; n, visited = n.after(top, down), visited+1 {
		if visited%nodesPerStep == 0 && !s.spend(1) || s.steps < 0 {
			return false
		}
		down = n.component == top.lock.component && (s.ignoreConcurrency || !n.taken())
		if p := n.ofEdge(); p != nil && n.lock.component == top.lock.component && !visit(p) {
			return false
		}
	}
	return true
}

// free reports whether the edges of the path hold none of the locks from the root to n, so that none
// is a gate lock.
func (s *search) free(n *node) bool {
	if s.ignoreConcurrency {
		return s.spend(1)
	}
	ok, steps := n.free()
	return s.spend(steps/nodesPerStep) && ok
}

// canExtend reports whether p, which has no gate lock in common with the edges of s.path, can be in a
// cycle together with them.
func (s *search) canExtend(p *edge) bool {
	for _, q := range s.path {
		if q.requested.Lock() == p.requested.Lock() && !s.behind(q, p) && !s.behind(p, q) || !s.ignoreConcurrency && !s.edgesConcurrent(q, p) {
			return false
		}
	}
	return true
}

// behind reports whether p requests to read the lock that q requests to write, and waits behind q.
func (s *search) behind(p, q *edge) bool {
	return p.requested.Shared() && !q.requested.Shared() && p.requested.Lock() == q.requested.Lock() && s.a.prefersWriters(p.requested.Lock())
}

// minimal reports whether no reader of the cycle waits behind a writer although it also waits
// directly for the thread that the writer waits for.
func (s *search) minimal() bool {
	n := len(s.path)
	for i, p := range s.path {
		if s.behind(p, s.path[(i+1)%n]) && p.waitsFor(s.path[(i+2)%n]) {
			return false
		}
	}
	return true
}

// waitsFor reports whether a thread that holds the locks of q blocks the request of p.
func (p *edge) waitsFor(q *edge) bool {
	return q.node.parent.excludes(p.requested)
}

// gate returns a lock that p and q hold in modes that exclude each other, or 0.
func (p *edge) gate(q *edge) event.ObjectID { return p.node.parent.gateLock(q.node.parent) }

// edgesConcurrent reports whether some instance of p and some instance of q, which have no gate lock,
// are concurrent.
func (s *search) edgesConcurrent(p, q *edge) bool {
	pairs := len(p.instances) * len(q.instances)
	if pairs <= fewComparisons {
		return someConcurrent(p, q)
	}
	k := [2]int{min(p.id, q.id), max(p.id, q.id)}
	if r, ok := s.concurrentEdges[k]; ok {
		return r
	}
	s.spend(1 + pairs/comparisonsPerStep)
	r := someConcurrent(p, q)
	s.concurrentEdges[k] = r
	return r
}

func someConcurrent(p, q *edge) bool {
	for _, x := range p.instances {
		for _, y := range q.instances {
			if concurrent(p, x, q, y) {
				return true
			}
		}
	}
	return false
}

// choose picks an instance for each edge of the cycle from the i-th on, in all ways in which the
// instances are pairwise concurrent.
func (s *search) choose(i int) {
	if i == len(s.path) {
		s.tuples++
		s.spend(reportCost)
		s.onChoice(s.path, s.choice)
		return
	}
	p := s.path[i]
	for _, x := range p.instances {
		if s.tuples >= maxTuples || !s.spend(1) {
			return
		}
		if s.fits(p, x) {
			s.choice = append(s.choice, x)
			s.choose(i + 1)
			s.choice = s.choice[:len(s.choice)-1]
		}
	}
}

// fits reports whether instance x of p is concurrent with the instances chosen so far.
func (s *search) fits(p *edge, x *instance) bool {
	for j, y := range s.choice {
		if !concurrent(s.path[j], y, p, x) {
			return false
		}
	}
	return true
}

// concurrent reports whether the threads of x and y can be at their requests at the same time. x is
// an instance of p, and y of q; the two edges have no held lock in common.
func concurrent(p *edge, x *instance, q *edge, y *instance) bool {
	if x.original != nil && x.original.gate(y.original) != 0 {
		return false // the edges of locks have a gate lock, which those of classes do not show
	}
	return x.thread != y.thread && unordered(x, x.last, y, y.last) && guard(x.lockEdge(p), x.thread, y.lockEdge(q), y.thread) == 0
}

// unordered reports whether the must-order leaves the two moments unordered. If it orders the last
// moments of two instances, it orders all their moments.
func unordered(x *instance, i moment, y *instance, j moment) bool {
	return i.epoch > y.clock.at(x.slot) && j.epoch > x.clock.at(y.slot)
}

// guard returns a lock that excludes edge p of thread t and edge q of thread u from each other,
// since a parent of one of the threads holds it during that thread's whole life. It returns 0 if
// there is none.
func guard(p *edge, t *thread, q *edge, u *thread) event.ObjectID {
	for c := t; c != nil; c = c.within {
		if l := c.guarded(q, u); l != 0 {
			return l
		}
	}
	for c := u; c != nil; c = c.within {
		if l := c.guarded(p, t); l != 0 {
			return l
		}
	}
	return 0
}

// guarded returns a lock that the parent of t held during the whole life of t, and that excludes
// thread u at edge q. That is the case if u, another thread than that parent, held the lock too, or
// if a parent held it during the whole life of u in another critical section. It returns 0 if there
// is none.
func (t *thread) guarded(q *edge, u *thread) event.ObjectID {
	for _, g := range t.guards {
		if u != g.holder && q.node.parent.excludes(g.m) {
			return g.m.Lock()
		}
		for c := u; c != nil; c = c.within {
			for _, h := range c.guards {
				if h.seq != g.seq && h.m.Conflicts(g.m) {
					return g.m.Lock()
				}
			}
		}
	}
	return 0
}
