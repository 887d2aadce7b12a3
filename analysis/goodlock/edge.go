package goodlock

import (
	"encoding/binary"
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
	held      []member // sorted; empty only for a write lock that readers may wait behind
	instances []*instance
	cache     [edgeCacheSize]*instance // direct-mapped cache of instances, by the low bits of the thread
	evicted   bool                     // some instances were evicted
	inverses  []int                    // ids of the edges with which it could be a cycle of two
}

// edgeCacheSize is the number of entries of the direct-mapped cache of an edge's instances.
const edgeCacheSize = 4

// instance is one or more acquires of an edge by one thread. They have the same call stack, and the
// held locks were acquired at the same call stacks. Between them, the must-order has no new edge
// between the thread and others. So the first and the last acquire represent all.
type instance struct {
	thread      *thread
	segment     uint64           // thread.segment at the acquires
	stack       event.StackID    // call stack of the acquire
	held        []event.ObjectID // in order of acquisition
	heldAt      []event.StackID  // by held lock: the call stack of its acquire
	slot        uint32           // of the thread, for clocks
	clock       *clock           // the must-order clock at the acquires
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
	if x := p.find(t, e); x != nil {
		x.last = momentOf(e)
		p.cache[t.id%edgeCacheSize] = x
		a.cacheInstance(p, x, t, e)
		return
	}
	x := a.room(p)
	*x = instance{
		thread: t, segment: t.segment, stack: e.Stack, held: n.parent.path, heldAt: x.heldAt[:0],
		slot: e.Slot, clock: a.clocks.share(t.clock), first: momentOf(e), last: momentOf(e),
	}
	for _, h := range t.heldBefore() {
		x.heldAt = append(x.heldAt, h.Stack)
	}
	p.instances = append(p.instances, x)
	p.cache[t.id%edgeCacheSize] = x
	a.cacheInstance(p, x, t, e)
}

// edgeOf returns the edge of a node, which it makes if there is none. It returns nil if there is no
// room for a new edge.
func (a *Analysis) edgeOf(n *node, t *thread, e *event.Event) *edge {
	held := n.heldAbove()
	key := edgeKey(held, n.m)
	if p := a.edges[key]; p != nil {
		return p
	}
	if len(a.edgesByID) >= a.opts.MaxEdges && !a.makeRoom() {
		return nil
	}
	a.nextID++
	p := &edge{id: a.nextID, requested: n.m, held: held}
	a.edges[key] = p
	a.edgesByID = append(a.edgesByID, p)
	a.countLocks(p, 1)
	a.findInverses(p)
	if a.opts.OnEdge != nil && len(held) > 0 {
		a.opts.OnEdge(acquireStep(t, e))
	}
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

func edgeKey(held []member, requested member) string {
	b := binary.LittleEndian.AppendUint64(nil, uint64(requested))
	for _, m := range held {
		b = binary.LittleEndian.AppendUint64(b, uint64(m))
	}
	return string(b)
}

// countLocks adds n to the number of occurrences of each lock of the edge, and drops the state of
// locks that no longer occur.
func (a *Analysis) countLocks(p *edge, n int) {
	count := func(lock event.ObjectID) {
		if a.inUse[lock] += n; a.inUse[lock] == 0 {
			if a.destroyed[lock] {
				delete(a.writerPreferring, lock)
			}
			delete(a.inUse, lock)
			delete(a.destroyed, lock)
		}
	}
	count(p.requested.Lock())
	for _, m := range p.held {
		count(m.Lock())
	}
}

// destroy records that a lock was destroyed, and sweeps if many objects have been destroyed.
func (a *Analysis) destroy(lock event.ObjectID) {
	if a.inUse[lock] > 0 {
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
	if len(a.destroyed) < a.sweepAfter/2 || 2*a.countFinished() < len(a.edgesByID) {
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
	if n := a.countFinished(); n == 0 || n < len(a.edgesByID)/8 {
		return false // too few to be worth a search
	}
	a.search()
	a.dropFinished()
	a.retryAt = 0
	return true
}

// dropFinished discards the finished edges and the tree.
func (a *Analysis) dropFinished() {
	keep := a.edgesByID[:0]
	for _, p := range a.edgesByID {
		if !a.finished(p) {
			keep = append(keep, p)
			continue
		}
		a.stats.EvictedEdges++
		a.classify(p)
		a.countLocks(p, -1)
		delete(a.edges, edgeKey(p.held, p.requested))
		a.dropRequester(p)
		a.instanceCount -= len(p.instances)
		for _, x := range p.instances {
			a.instanceCache.drop(x)
			a.clocks.drop(x.clock)
		}
	}
	clear(a.edgesByID[len(keep):])
	a.edgesByID = keep
	a.clearTree()
}

// countFinished returns the number of finished edges.
func (a *Analysis) countFinished() int {
	n := 0
	for _, p := range a.edgesByID {
		if a.finished(p) {
			n++
		}
	}
	return n
}

// finished reports whether no new edge can hold the lock that p requests, or none can request a
// lock that p holds, because these locks are destroyed. So p is in no cycle of two with a new
// edge. If p is discarded, longer cycles are missed that consist of p, the old edge next to it that
// shares the destroyed lock, and new edges.
func (a *Analysis) finished(p *edge) bool {
	if a.destroyed[p.requested.Lock()] {
		return true
	}
	for _, m := range p.held {
		if !a.destroyed[m.Lock()] {
			return false
		}
	}
	return true
}

// find returns the instance to which the event belongs, or nil.
func (p *edge) find(t *thread, e *event.Event) *instance {
	if x := p.cache[t.id%edgeCacheSize]; x != nil && x.is(t, e) {
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
		if x.is(t, e) {
			return x
		}
	}
	return nil
}

// is reports whether the event, an acquire by t, belongs to x.
func (x *instance) is(t *thread, e *event.Event) bool {
	if x.thread != t || x.segment != t.segment || x.stack != e.Stack || x.clock != t.clock {
		return false
	}
	for i, h := range t.heldBefore() {
		if x.heldAt[i] != h.Stack || x.held[i] != h.Lock() {
			return false
		}
	}
	return true
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
	a.stats.EvictedInstances++
	p.evicted = true
	i := p.victim(len(p.instances) / 2)
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
	must  []event.Epoch
}

func (c *clock) at(slot uint32) event.Epoch {
	if int(slot) < len(c.must) {
		return c.must[slot]
	}
	return 0
}

// equalBut reports whether the clock equals must in all entries except that of slot.
func (c *clock) equalBut(slot uint32, must []event.Epoch) bool {
	if len(c.must) != len(must) {
		return false
	}
	for i, x := range c.must {
		if x != must[i] && uint32(i) != slot {
			return false
		}
	}
	return true
}

// clockPool reuses the memory of clocks that no longer have users.
type clockPool struct{ free []*clock }

// get returns a clock with these entries and one user.
func (p *clockPool) get(must []event.Epoch) *clock {
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		c.must = append(c.must[:0], must...)
		c.users = 1
		return c
	}
	return &clock{1, slices.Clone(must)}
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
	if t.clock != nil && (e.Since != 0 && e.Since <= t.clockEpoch || t.clock.equalBut(e.Slot, e.Must)) {
		t.clockEpoch = e.Epoch
		return
	}
	t.clockEpoch = e.Epoch
	a.beginPeriod(t)
	a.clocks.drop(t.clock)
	t.clock = a.clocks.get(e.Must)
}
