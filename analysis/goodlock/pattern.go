package goodlock

import (
	"encoding/binary"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// pattern is a lock-order edge with its whole lockset: some thread requested a lock while it held
// a set of others. It has no threads, call stacks or times; its instances have them.
type pattern struct {
	id      int
	wanted  member
	held    []member // sorted; empty only of a writer that readers wait behind
	kept    []*instance
	hits    [hits]*instance // the latest instance found, by the low bits of the thread
	evicted bool            // some instances were evicted
	opposed []int           // ids of the patterns with which it could be a cycle of two
}

// hits is the number of entries of the direct-mapped cache of a pattern's instances.
const hits = 4

// instance is one or more acquires of a pattern by one thread, at one call stack and with the held
// locks acquired at the same call stacks, between which the must-order has no new edge between the
// thread and others. The first and the last acquire stand for all.
type instance struct {
	thread      *thread
	segment     uint64
	place       event.StackID    // call stack of the acquire
	held        []event.ObjectID // in order of acquisition
	heldAt      []event.StackID
	slot        uint32
	clock       *clock
	first, last moment
	again       int      // index of its entry in agains, if that entry has this x
	original    *pattern // with lock classes: the pattern of locks that this is a copy of
}

// moment is the time of one acquire.
type moment struct {
	seq, time uint64
	epoch     event.Epoch
	flags     event.Flags
}

func momentOf(e *event.Event) moment { return moment{e.Seq, e.Time, e.Epoch, e.Flags} }

// wanted records the latest acquire of t, made while it held the other locks of t.locks.Held.
func (a *Analysis) wanted(t *thread, e *event.Event) {
	a.snapshot(t, e)
	if a.seen(t, e) {
		return
	}
	n := a.cur(t)
	if n.pattern == nil {
		n.pattern = a.patternOf(n, t, e)
	}
	p := n.pattern
	if p == nil {
		a.stats.DroppedEdges++
		return
	}
	if len(p.opposed) > 0 {
		a.opts.OnAcquired(p.id, e.Thread, e.Seq)
	}
	if x := p.find(t, e); x != nil {
		x.last = momentOf(e)
		p.hits[t.id%hits] = x
		a.remember(p, x, t, e)
		return
	}
	x := a.room(p)
	*x = instance{
		thread: t, segment: t.segment, place: e.Stack, held: n.parent.path, heldAt: x.heldAt[:0],
		slot: e.Slot, clock: a.clocks.share(t.clock), first: momentOf(e), last: momentOf(e),
	}
	for _, h := range t.above() {
		x.heldAt = append(x.heldAt, h.Stack)
	}
	p.kept = append(p.kept, x)
	p.hits[t.id%hits] = x
	a.remember(p, x, t, e)
}

// patternOf returns the pattern of a node, which it makes if there is none, or nil for lack of
// room.
func (a *Analysis) patternOf(n *node, t *thread, e *event.Event) *pattern {
	held := n.heldAbove()
	key := patternKey(held, n.m)
	if p := a.patterns[key]; p != nil {
		return p
	}
	if len(a.ordered) >= a.opts.MaxEdges && !a.makeRoom() {
		return nil
	}
	a.nextID++
	p := &pattern{id: a.nextID, wanted: n.m, held: held}
	a.patterns[key] = p
	a.ordered = append(a.ordered, p)
	a.use(p, 1)
	a.oppose(p)
	if a.opts.OnEdge != nil && len(held) > 0 {
		a.opts.OnEdge(nesting(t, e))
	}
	return p
}

// nesting returns the acquire that the thread has just made, as evidence.
func nesting(t *thread, e *event.Event) finding.Step {
	s := finding.Step{Seq: e.Seq, Time: e.Time, Thread: t.id, Op: e.Op, Flags: e.Flags, Object: e.Object, Stack: e.Stack}
	for _, h := range t.above() {
		s.Held, s.HeldAt = append(s.Held, h.Lock()), append(s.HeldAt, h.Stack)
	}
	return s
}

func patternKey(held []member, wanted member) string {
	b := binary.LittleEndian.AppendUint64(nil, uint64(wanted))
	for _, m := range held {
		b = binary.LittleEndian.AppendUint64(b, uint64(m))
	}
	return string(b)
}

// use adds n to the number of occurrences of each lock of the pattern, and drops what is known of
// locks that occur no more.
func (a *Analysis) use(p *pattern, n int) {
	count := func(lock event.ObjectID) {
		if a.inUse[lock] += n; a.inUse[lock] == 0 {
			if a.dead[lock] {
				delete(a.queueing, lock)
			}
			delete(a.inUse, lock)
			delete(a.dead, lock)
		}
	}
	count(p.wanted.Lock())
	for _, m := range p.held {
		count(m.Lock())
	}
}

func (a *Analysis) destroyed(lock event.ObjectID) {
	if a.inUse[lock] > 0 {
		a.dead[lock] = true
	} else {
		delete(a.queueing, lock)
	}
	if a.deaths++; a.deaths >= max(a.sweepAfter, a.nodes/2) {
		a.sweep()
	}
}

// minDeaths is the number of objects that must be destroyed before the first sweep.
const minDeaths = 1 << 12

// sweepBudget bounds the search that a sweep does before it discards patterns, in steps per
// pattern. So a sweep costs at most a few times what it cost to make the patterns.
const sweepBudget = 64

// sweep discards the tree, and with it the nodes of destroyed locks. If enough locks are
// destroyed and at least half of all patterns are finished, it discards these patterns too, after
// a search for their cycles.
func (a *Analysis) sweep() {
	if len(a.dead) < a.sweepAfter/2 || 2*a.countFinished() < len(a.ordered) {
		a.replant()
		return
	}
	if enough, _ := a.searchWith(min(a.opts.Budget, sweepBudget*len(a.ordered))); !enough {
		a.sweepAfter *= 2 // there are too many cycles; MaxEdges still bounds the patterns
		a.replant()
		return
	}
	a.dropFinished()
}

// makeRoom discards the patterns of destroyed locks, after a search for the cycles among all
// patterns in memory. Since a search is expensive, it is done only if there are enough such
// patterns, and not again until MaxEdges/4 more acquires were dropped.
func (a *Analysis) makeRoom() bool {
	if a.stats.DroppedEdges < a.retryAt {
		return false
	}
	a.retryAt = a.stats.DroppedEdges + uint64(a.opts.MaxEdges)/4
	if n := a.countFinished(); n == 0 || n < len(a.ordered)/8 {
		return false // too few to be worth a search
	}
	a.search()
	a.dropFinished()
	a.retryAt = 0
	return true
}

// dropFinished discards the finished patterns and the tree.
func (a *Analysis) dropFinished() {
	keep := a.ordered[:0]
	for _, p := range a.ordered {
		if !a.finished(p) {
			keep = append(keep, p)
			continue
		}
		a.stats.EvictedEdges++
		a.classify(p)
		a.use(p, -1)
		delete(a.patterns, patternKey(p.held, p.wanted))
		a.unopposed(p)
		a.kept -= len(p.kept)
		for _, x := range p.kept {
			a.again.drop(x)
			a.clocks.drop(x.clock)
		}
	}
	clear(a.ordered[len(keep):])
	a.ordered = keep
	a.replant()
}

// countFinished returns the number of finished patterns.
func (a *Analysis) countFinished() int {
	n := 0
	for _, p := range a.ordered {
		if a.finished(p) {
			n++
		}
	}
	return n
}

// finished reports whether no new pattern can hold the lock that p requests, or none can request a
// lock that p holds, because these locks are destroyed. So p is in no cycle of two with a new
// pattern. A longer cycle is lost in which only p and its neighbour on the side of the destroyed
// lock are old.
func (a *Analysis) finished(p *pattern) bool {
	if a.dead[p.wanted.Lock()] {
		return true
	}
	for _, m := range p.held {
		if !a.dead[m.Lock()] {
			return false
		}
	}
	return true
}

// find returns the instance to which the event belongs, or nil.
func (p *pattern) find(t *thread, e *event.Event) *instance {
	if x := p.hits[t.id%hits]; x != nil && x.is(t, e) {
		return x
	}
	for i := len(p.kept) - 1; i >= 0; i-- {
		x := p.kept[i]
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

func (x *instance) is(t *thread, e *event.Event) bool {
	if x.thread != t || x.segment != t.segment || x.place != e.Stack || x.clock != t.clock {
		return false
	}
	for i, h := range t.above() {
		if x.heldAt[i] != h.Stack || x.held[i] != h.Lock() {
			return false
		}
	}
	return true
}

// above returns the locks that the thread held when it acquired its latest lock.
func (t *thread) above() []locks.Held { return t.locks.Held[:len(t.locks.Held)-1] }

// scarce is the number of instances that each pattern may have even after MaxInstances is reached.
const scarce = 4

// room returns an instance to fill: a new one, or, if the pattern has enough, the oldest one
// outside the first half of the thread that has most instances there.
func (a *Analysis) room(p *pattern) *instance {
	limit := a.opts.History
	if a.kept >= a.opts.MaxInstances {
		limit = min(limit, scarce)
	}
	if len(p.kept) < limit {
		a.kept++
		return &instance{}
	}
	a.stats.EvictedInstances++
	p.evicted = true
	i := p.victim(len(p.kept) / 2)
	x := p.kept[i]
	a.again.drop(x)
	a.clocks.drop(x.clock)
	p.kept = slices.Delete(p.kept, i, i+1)
	return x
}

func (p *pattern) victim(from int) int {
	var buf [8]share
	shares, best := buf[:0], 0
	for i := from; i < len(p.kept); i++ {
		at := slices.IndexFunc(shares, func(s share) bool { return s.thread == p.kept[i].thread })
		if at < 0 {
			at = len(shares)
			shares = append(shares, share{thread: p.kept[i].thread, first: i})
		}
		if shares[at].n++; shares[at].n > shares[best].n || shares[at].n == shares[best].n && at < best {
			best = at
		}
	}
	return shares[best].first
}

// share is the number of instances that a thread has in the second half of a pattern's.
type share struct {
	thread *thread
	first  int // index of the first of them
	n      int
}

// clock is the must-order clock of a thread during one stretch, shared by the instances of that
// stretch. The entry of the thread's own slot is that of the first of them. That is enough: only
// distinct threads are compared, and the epochs of an earlier user of the slot are below it.
type clock struct {
	users int
	must  []event.Epoch
}

func (c *clock) at(slot uint32) event.Epoch {
	if int(slot) < len(c.must) {
		return c.must[slot]
	}
	return 0
}

// equalBut reports whether all entries of the clock except that of slot equal those of must.
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

// clockPool reuses clocks without users.
type clockPool struct{ free []*clock }

func (p *clockPool) take(must []event.Epoch) *clock {
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		c.must = append(c.must[:0], must...)
		c.users = 1
		return c
	}
	return &clock{1, slices.Clone(must)}
}

func (p *clockPool) share(c *clock) *clock {
	c.users++
	return c
}

func (p *clockPool) drop(c *clock) {
	if c == nil {
		return
	}
	if c.users--; c.users == 0 && len(p.free) < 64 {
		p.free = append(p.free, c)
	}
}

// snapshot sets t.clock to the must-order clock of e, and begins a new stretch if it has changed.
func (a *Analysis) snapshot(t *thread, e *event.Event) {
	if t.clock != nil && (e.Since != 0 && e.Since <= t.taken || t.clock.equalBut(e.Slot, e.Must)) {
		t.taken = e.Epoch
		return
	}
	t.taken = e.Epoch
	a.stretch(t)
	a.clocks.drop(t.clock)
	t.clock = a.clocks.take(e.Must)
}
