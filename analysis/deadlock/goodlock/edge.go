package goodlock

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// edge is a lock-order edge with its whole lockset: some thread requested a lock while it held
// a set of others. It has no threads, call stacks or times; its instances have them.
type edge struct {
	id        int
	requested member
	node      *node // of the request; the path above it is the held locks, none only for a write lock that readers may wait behind
	instances []*instance
	collision *edge                    // another edge with the same edgeKey
	cache     [edgeCacheSize]*instance // direct-mapped cache of instances, by the low bits of the thread
	evicted   bool                     // some instances were evicted
	seen      int                      // the latest breadth-first search that reached the edge
	inverses  []int                    // ids of the edges with which it could be a cycle of two
}

// edgeCacheSize is the number of entries of the direct-mapped cache of an edge's instances.
const edgeCacheSize = 4

// instance is one or more acquires of an edge by one thread. They have the same call stack, and the
// held locks were acquired at the same call stacks. Between them, the must-order has no new edge
// between the thread and others. So the first and the last acquire represent all.
type instance struct {
	thread      *thread
	segment     uint64 // thread.segment at the acquires
	at          *node  // of the acquires: the path above it is the held locks
	slot        uint32 // of the thread, for clocks
	clock       *clock // the must-order clock at the acquires
	first, last moment
	cacheIndex  int   // index in the instanceCache; stale unless the entry there has this instance
	original    *edge // of an edge of classes: the edge of locks whose instance this is a copy of
}

// moment is the time of one acquire.
type moment struct {
	seq, time uint64
	epoch     event.Epoch
	flags     event.Flags
}

func momentOf(e *event.Event) moment { return moment{e.Seq, e.Time, e.Epoch, e.Flags} }

// addRequest records an acquire by t, of the last lock of t.locks.Held while t held the others.
func (a *Analysis) addRequest(t *thread, e *event.Event) {
	a.snapshot(t, e)
	if a.addCached(t, e) {
		return
	}
	n := a.current(t)
	if n.edge == nil {
		n.edge = a.edgeOf(n, t, e)
	}
	p := n.edge
	if p == nil {
		a.stats.DroppedEdges++
		return
	}
	if len(p.inverses) > 0 {
		a.opts.OnAcquired(p.id, e.Thread, e.Seq)
	}
	if x := p.find(t, n); x != nil {
		x.last, x.at = momentOf(e), n // the tree may have been emptied since
		p.cache[t.id%edgeCacheSize] = x
		a.cacheInstance(p, x, t, e)
		return
	}
	x := a.room(p)
	*x = instance{
		thread: t, segment: t.segment, at: n,
		slot: e.Slot, clock: a.clocks.share(t.clock), first: momentOf(e), last: momentOf(e),
	}
	p.instances = append(p.instances, x)
	p.cache[t.id%edgeCacheSize] = x
	a.cacheInstance(p, x, t, e)
}

// edgeOf returns the edge of a node, which it makes if there is none. It returns nil if there is no
// room for a new edge.
func (a *Analysis) edgeOf(n *node, t *thread, e *event.Event) *edge {
	if p := a.edges.find(n); p != nil {
		return p
	}
	if len(a.edgesByID) >= a.opts.MaxEdges && !a.makeRoom() {
		return nil
	}
	a.nextID++
	p := a.addEdge(n)
	a.findInverses(p)
	if a.opts.OnEdge != nil && n.depth > 1 {
		a.opts.OnEdge(acquireStep(t, e))
	}
	return p
}

// addEdge adds the edge of a node.
func (a *Analysis) addEdge(n *node) *edge {
	p := &edge{id: a.nextID, requested: n.m, node: n}
	n.edge = p
	a.edges.add(p)
	a.edgesByID = append(a.edgesByID, p)
	a.forest.add(n)
	return p
}

// acquireStep returns the acquire that the thread has just made, as evidence.
func acquireStep(t *thread, e *event.Event) finding.Step {
	s := finding.Step{Seq: e.Seq, Time: e.Time, Thread: t.id, Op: e.Op, Flags: e.Flags, Object: e.Object, Stack: e.Stack}
	for _, h := range t.heldBefore() {
		s.Held, s.HeldAt = append(s.Held, h.Lock()), append(s.HeldAt, h.Stack)
	}
	return s
}

// edgeKey is equal for equal edges, and seldom for others.
type edgeKey struct {
	requested member
	held      uint64 // node.hash
}

func (n *node) edgeKey() edgeKey { return edgeKey{n.m, n.parent.hash} }

// edgeTable finds edges by what they request and hold.
type edgeTable map[edgeKey]*edge

// find returns the edge that requests what n requests while it holds the same locks, or nil.
func (t edgeTable) find(n *node) *edge {
	p := t[n.edgeKey()]
	for p != nil && !p.node.parent.sameSet(n.parent) {
		p = p.collision
	}
	return p
}

func (t edgeTable) add(p *edge) {
	key := p.node.edgeKey()
	p.collision, t[key] = t[key], p
}

// destroy records that a lock was destroyed, and sweeps if many objects have been destroyed.
func (a *Analysis) destroy(lock event.ObjectID) {
	if a.forest.locks[lock] != nil {
		a.destroyed[lock] = true
	} else {
		delete(a.writerPreferring, lock)
	}
	if a.destroyCount++; a.destroyCount >= max(a.sweepAfter, a.nodes/2) {
		a.sweep()
	}
}

// minDestroyed is the number of objects that must be destroyed before the first sweep.
const minDestroyed = 1 << 12

// sweepBudget bounds the search that a sweep does before it discards edges, in steps per
// edge. So a sweep costs at most a few times what it cost to make the edges.
const sweepBudget = 64

// sweep discards the tree, and with it the nodes of destroyed locks. If enough locks are
// destroyed and at least half of all edges are finished, it discards these edges too, after
// a search for their cycles.
func (a *Analysis) sweep() {
	if len(a.destroyed) < a.sweepAfter/2 || 2*len(a.finishedEdges()) < len(a.edgesByID) {
		a.clearTree()
		return
	}
	if enough, _ := a.searchWith(min(a.opts.Budget, sweepBudget*len(a.edgesByID))); !enough {
		a.sweepAfter *= 2 // there are too many cycles; MaxEdges still bounds the edges
		a.clearTree()
		return
	}
	a.dropFinished()
}

// makeRoom discards the edges of destroyed locks, after a search for the cycles among all
// edges in memory. Since a search is expensive, it is done only if there are enough such
// edges, and not again until MaxEdges/4 more acquires were dropped.
func (a *Analysis) makeRoom() bool {
	if a.stats.DroppedEdges < a.retryAt {
		return false
	}
	a.retryAt = a.stats.DroppedEdges + uint64(a.opts.MaxEdges)/4
	if n := len(a.finishedEdges()); n == 0 || n < len(a.edgesByID)/8 {
		return false // too few to be worth a search
	}
	a.search()
	a.dropFinished()
	a.retryAt = 0
	return true
}

// dropFinished discards the finished edges and the tree.
func (a *Analysis) dropFinished() {
	var keep []*edge
	finished := a.finishedEdges()
	for _, p := range a.edgesByID {
		if !finished[p] {
			keep = append(keep, p)
			continue
		}
		a.stats.EvictedEdges++
		a.classify(p)
		a.instanceCount -= len(p.instances)
		for _, x := range p.instances {
			a.instanceCache.drop(x)
			a.clocks.drop(x.clock)
		}
	}
	a.keepEdges(keep)
	a.clearTree()
}

// keepEdges discards all edges but those, and the state of the locks that do not occur in them.
func (a *Analysis) keepEdges(keep []*edge) {
	before := slices.Collect(maps.Keys(a.destroyed))
	a.forest.clear()
	clear(a.edges)
	a.edgesByID = keep
	for _, p := range keep {
		p.node.edge = p
		a.edges.add(p)
		a.forest.add(p.node)
	}
	for _, lock := range before {
		if a.forest.locks[lock] == nil {
			delete(a.writerPreferring, lock)
			delete(a.destroyed, lock)
		}
	}
}

// finishedEdges returns the edges of which no new edge can hold the lock that they request, or none
// can request a lock that they hold, because these locks are destroyed. So they are in no cycle of
// two with a new edge. If such an edge is discarded, longer cycles are missed that consist of it,
// the old edge next to it that shares the destroyed lock, and new edges.
func (a *Analysis) finishedEdges() map[*edge]bool {
	all := map[*edge]bool{}
	for _, p := range a.edgesByID {
		if a.destroyed[p.requested.Lock()] || p.node.depth == 1 {
			all[p] = true
		}
	}
	for lock := range a.destroyed {
		for _, n := range a.forest.locks[lock].nodes {
			if n.parent.parent == nil {
				a.addFinished(n, all)
			}
		}
	}
	return all
}

// addFinished adds the edges below an outermost lock that hold nothing but destroyed locks.
func (a *Analysis) addFinished(top *node, all map[*edge]bool) {
	for n := top.first; n != nil; n = n.after(top, a.destroyed[n.m.Lock()]) {
		if p := n.ofEdge(); p != nil {
			all[p] = true
		}
	}
}

// find returns the instance to which an acquire by t, at node n, belongs; or nil.
func (p *edge) find(t *thread, n *node) *instance {
	if x := p.cache[t.id%edgeCacheSize]; x != nil && x.is(t, n) {
		return x
	}
	for i := len(p.instances) - 1; i >= 0; i-- {
		x := p.instances[i]
		if x.thread != t {
			continue
		}
		if x.segment != t.segment {
			return nil // older instances of the thread are of older segments
		}
		if x.is(t, n) {
			return x
		}
	}
	return nil
}

// is reports whether an acquire by t, at node n, belongs to x.
func (x *instance) is(t *thread, n *node) bool {
	return x.thread == t && x.segment == t.segment && x.clock == t.clock && x.at.same(n)
}

// heldBefore returns the locks that the thread already held when it acquired its latest lock.
func (t *thread) heldBefore() []locks.Held { return t.locks.Held[:len(t.locks.Held)-1] }

// guaranteedInstances is the number of instances that each edge may have even after MaxInstances is
// reached.
const guaranteedInstances = 4

// room returns an instance to fill: a new one, or the victim if the edge has no room for another.
func (a *Analysis) room(p *edge) *instance {
	limit := a.opts.History
	if a.instanceCount >= a.opts.MaxInstances {
		limit = min(limit, guaranteedInstances)
	}
	if len(p.instances) < limit {
		a.instanceCount++
		return &instance{}
	}
	return a.evict(p, p.victim(len(p.instances)/2))
}

// evict evicts an instance of an edge, by its index, and returns it.
func (a *Analysis) evict(p *edge, i int) *instance {
	a.stats.EvictedInstances++
	p.evicted = true
	x := p.instances[i]
	a.instanceCache.drop(x)
	a.clocks.drop(x.clock)
	p.instances = slices.Delete(p.instances, i, i+1)
	return x
}

// victim returns the index of the instance to evict, from the index from on: the oldest one of the
// thread that has most instances there.
func (p *edge) victim(from int) int {
	var buf [8]share
	shares, best := buf[:0], 0
	for i := from; i < len(p.instances); i++ {
		at := slices.IndexFunc(shares, func(s share) bool { return s.thread == p.instances[i].thread })
		if at < 0 {
			at = len(shares)
			shares = append(shares, share{thread: p.instances[i].thread, first: i})
		}
		if shares[at].n++; shares[at].n > shares[best].n || shares[at].n == shares[best].n && at < best {
			best = at
		}
	}
	return shares[best].first
}

// share counts the instances of one thread that victim looks at.
type share struct {
	thread *thread
	first  int // index of the first of them
	n      int
}

// clock is the must-order clock of a thread during one period, shared by the instances of that
// period. The entry of the thread's own slot is that of the first of them. That is enough: only
// distinct threads are compared, and the epochs of an earlier user of the slot are below it.
type clock struct {
	users int // number of instances and threads that refer to it
	must  event.Clock
}

func (c *clock) at(slot uint32) event.Epoch { return c.must.At(slot) }

// equalBut reports whether the clock equals that of e in all entries except that of e's slot.
func (c *clock) equalBut(e *event.Event) bool {
	if e.Must == nil {
		return c.must.Len() == 0
	}
	return c.must.EqualBut(e.Slot, e.Must)
}

// clockPool reuses the memory of clocks that no longer have users.
type clockPool struct{ free []*clock }

// get returns a clock with these entries and one user.
func (p *clockPool) get(must *event.Clock) *clock {
	var c *clock
	if n := len(p.free); n > 0 {
		c, p.free = p.free[n-1], p.free[:n-1]
	} else {
		c = &clock{}
	}
	c.users = 1
	c.must.Reset()
	if must != nil {
		c.must.Copy(must)
	}
	return c
}

// share adds a user.
func (p *clockPool) share(c *clock) *clock {
	c.users++
	return c
}

// drop removes a user; nil is no clock.
func (p *clockPool) drop(c *clock) {
	if c == nil {
		return
	}
	if c.users--; c.users == 0 && len(p.free) < 64 {
		p.free = append(p.free, c)
	}
}

// snapshot sets t.clock to the must-order clock of e, and begins a new period if it has changed.
func (a *Analysis) snapshot(t *thread, e *event.Event) {
	if t.clock != nil && (e.Since != 0 && e.Since <= t.clockEpoch || t.clock.equalBut(e)) {
		t.clockEpoch = e.Epoch
		return
	}
	t.clockEpoch = e.Epoch
	a.beginPeriod(t)
	a.clocks.drop(t.clock)
	t.clock = a.clocks.get(e.Must)
}

// Shrink evicts instances beyond those that each edge is guaranteed, the oldest of its latest ones first, and has
// room for no more edges than there are. It reports whether it did so; a second time it does nothing.
func (a *Analysis) Shrink() bool {
	if a.shrunk {
		return false
	}
	a.shrunk = true
	a.opts.MaxInstances = 1
	a.opts.MaxEdges = min(a.opts.MaxEdges, max(len(a.edgesByID), leastEdges))
	for _, p := range a.edgesByID {
		for len(p.instances) > guaranteedInstances {
			drop := a.evict(p, guaranteedInstances/2)
			for i, x := range p.cache {
				if x == drop {
					p.cache[i] = nil
				}
			}
			a.instanceCount--
		}
		p.instances = slices.Clone(p.instances)
	}
	a.clearTree()
	return true
}

// leastEdges is the number of edges for which Shrink leaves room.
const leastEdges = 1 << 10
