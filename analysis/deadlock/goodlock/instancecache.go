package goodlock

import "github.com/tracepredict/tracepredict/observer/event"

// cacheEntry is an entry of the cache that finds the instance of a repeated acquire. In one cache
// line of the processor it holds all that distinguishes one such acquire from another, and a
// pointer to the instance. Without it, a program with thousands of edges would wait for memory a
// dozen times at each acquire, for the tree, the edge and the instance.
type cacheEntry struct {
	instance *instance
	period   uint64 // thread.period, or free or dropped
	thread   event.ThreadID
	lock     event.ObjectID // the lock requested
	stack    event.StackID
	modes    uint16 // bit i is the mode of held[i], bit depth that of the requested lock; 1: shared
	depth    uint16 // number of held locks
	held     [maxCachedHeld]heldLock
	_        [8]byte // pads the entry to a cache line of 64 bytes
}

type heldLock struct {
	lock  event.ObjectID
	stack event.StackID
}

// maxCachedHeld is the maximum number of held locks of an acquire that the cache can hold.
const maxCachedHeld = 3

// minCacheSize and maxCacheSize bound the number of entries of the cache, which grows with the
// number of instances.
const minCacheSize, maxCacheSize = 1 << 8, 1 << 18

// fill sets all fields but the instance, for the acquire that t has just made. It returns false if
// t holds no other lock, or too many.
func (g *cacheEntry) fill(t *thread, stack event.StackID) bool {
	above := t.heldBefore()
	if len(above) == 0 || len(above) > maxCachedHeld {
		return false
	}
	want := t.locks.Held[len(above)].Member
	g.period, g.thread, g.lock, g.stack = t.period, t.id, want.Lock(), stack
	g.depth, g.modes = uint16(len(above)), uint16(want&1)<<len(above)
	for i := range above {
		h := &above[i]
		g.held[i] = heldLock{h.Lock(), h.Stack}
		g.modes |= uint16(h.Member&1) << i
	}
	return true
}

func (g *cacheEntry) hash() uint32 {
	h := uint64(g.thread)<<32 | uint64(g.lock)
	h = (h ^ uint64(g.stack) ^ g.period<<20) * 0x9e3779b97f4a7c15
	for i := range g.held[:g.depth] {
		h = (h ^ h>>29 ^ uint64(g.held[i].lock)<<32 ^ uint64(g.held[i].stack)) * 0xbf58476d1ce4e5b9
	}
	return uint32(h >> 32)
}

// same reports whether the two entries are of acquires that belong to one instance.
func (g *cacheEntry) same(o *cacheEntry) bool {
	return g.period == o.period && g.thread == o.thread && g.lock == o.lock && g.stack == o.stack &&
		g.modes == o.modes && g.depth == o.depth && g.held == o.held
}

// instanceCache is a hash table whose size is a power of two. An entry is at the index of its hash
// or at one of the next ways-1 indices, so most lookups read one entry.
type instanceCache struct {
	all []cacheEntry
}

// ways is the number of indices at which an entry may be.
const ways = 8

// Values of cacheEntry.period for slots without an instance. No thread has one of them.
const (
	free    = 0          // never used: a lookup ends here
	dropped = ^uint64(0) // the entry was removed: a lookup goes on
)

// grow replaces the entries by n that are free.
func (t *instanceCache) grow(n int) { t.all = make([]cacheEntry, n) }

func (t *instanceCache) at(hash uint32, way int) int { return (int(hash) + way) & (len(t.all) - 1) }

// find returns the entry that is the same as g, or nil.
func (t *instanceCache) find(g *cacheEntry) *cacheEntry {
	hash := g.hash()
	for way := range ways {
		x := &t.all[t.at(hash, way)]
		if x.same(g) {
			return x
		}
		if x.period == free {
			return nil
		}
	}
	return nil
}

// add copies an entry into a slot without an instance, or replaces another entry.
func (t *instanceCache) add(g *cacheEntry) {
	hash := g.hash()
	to := t.at(hash, int(hash>>28)%ways)
	for way := range ways {
		if at := t.at(hash, way); t.all[at].instance == nil {
			to = at
			break
		}
	}
	t.all[to] = *g
	g.instance.cacheIndex = to
}

// drop removes the entry of an instance.
func (t *instanceCache) drop(x *instance) {
	if x.cacheIndex < len(t.all) && t.all[x.cacheIndex].instance == x {
		t.all[x.cacheIndex] = cacheEntry{period: dropped}
	}
}

// beginPeriod begins a new period of a thread.
func (a *Analysis) beginPeriod(t *thread) {
	a.periods++
	t.period = a.periods
}

// addCached adds an acquire to its instance if the cache has an entry for it. It reports whether it
// did.
func (a *Analysis) addCached(t *thread, e *event.Event) bool {
	var g cacheEntry
	if !g.fill(t, e.Stack) {
		return false
	}
	cached := a.instanceCache.find(&g)
	if cached == nil {
		return false
	}
	cached.instance.last = momentOf(e)
	return true
}

// cacheInstance adds an entry for an instance and its latest acquire. Instances of an edge with an
// inverse are not cached, because OnAcquired must be called for each of their acquires.
func (a *Analysis) cacheInstance(p *edge, x *instance, t *thread, e *event.Event) {
	if len(p.inverses) > 0 {
		return
	}
	if n := len(a.instanceCache.all); a.instanceCount > n/2 && n < maxCacheSize {
		a.instanceCache.grow(2 * n)
	}
	g := cacheEntry{instance: x}
	if g.fill(t, e.Stack) {
		a.instanceCache.add(&g)
	}
}
