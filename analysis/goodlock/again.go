package goodlock

import "github.com/tracepredict/tracepredict/observer/event"

// again is an entry of the table that finds the instance of a repeated acquire. It holds all that
// distinguishes one such acquire from another, in one cache line, and a pointer to the instance. A
// program with thousands of patterns would otherwise wait for memory a dozen times an acquire, for
// the tree, the pattern and the instance.
type again struct {
	x       *instance
	stretch uint64 // thread.stretch, or free or dropped
	thread  event.ThreadID
	lock    event.ObjectID // the lock requested
	place   event.StackID
	modes   uint16 // a bit a lock, 1: shared; the held ones, outermost lowest, then the requested one
	depth   uint16 // number of held locks
	held    [maxAgain]taken
	_       [8]byte // pads the entry to a cache line of 64 bytes
}

type taken struct {
	lock  event.ObjectID
	place event.StackID
}

// maxAgain is the maximum number of held locks of an acquire that the table can hold.
const maxAgain = 3

// fewAgain and mostAgain bound the entries of the table. It grows with the number of instances.
const fewAgain, mostAgain = 1 << 8, 1 << 18

// fill describes the acquire that t has just made. It returns false if t holds no other lock, or
// too many.
func (g *again) fill(t *thread, place event.StackID) bool {
	above := t.above()
	if len(above) == 0 || len(above) > maxAgain {
		return false
	}
	want := t.locks.Held[len(above)].Member
	g.stretch, g.thread, g.lock, g.place = t.stretch, t.id, want.Lock(), place
	g.depth, g.modes = uint16(len(above)), uint16(want&1)<<len(above)
	for i := range above {
		h := &above[i]
		g.held[i] = taken{h.Lock(), h.Stack}
		g.modes |= uint16(h.Member&1) << i
	}
	return true
}

func (g *again) hash() uint32 {
	h := uint64(g.thread)<<32 | uint64(g.lock)
	h = (h ^ uint64(g.place) ^ g.stretch<<20) * 0x9e3779b97f4a7c15
	for i := range g.held[:g.depth] {
		h = (h ^ h>>29 ^ uint64(g.held[i].lock)<<32 ^ uint64(g.held[i].place)) * 0xbf58476d1ce4e5b9
	}
	return uint32(h >> 32)
}

// same reports whether the two are acquires of one instance, in one stretch of a thread.
func (g *again) same(o *again) bool {
	return g.stretch == o.stretch && g.thread == o.thread && g.lock == o.lock && g.place == o.place &&
		g.modes == o.modes && g.depth == o.depth && g.held == o.held
}

// agains is a hash table whose size is a power of two. An entry is at the index of its hash or at
// one of the next ways-1 indices, so most lookups read one entry.
type agains struct {
	all []again
}

// ways is the number of indices at which an entry may be.
const ways = 8

// Values of again.stretch for slots without an instance. No thread has one of them.
const (
	free    = 0          // never used: a lookup ends here
	dropped = ^uint64(0) // the entry was removed: a lookup goes on
)

func (t *agains) grow(n int) { t.all = make([]again, n) }

func (t *agains) at(hash uint32, way int) int { return (int(hash) + way) & (len(t.all) - 1) }

func (t *agains) find(g *again) *again {
	hash := g.hash()
	for way := range ways {
		x := &t.all[t.at(hash, way)]
		if x.same(g) {
			return x
		}
		if x.stretch == free {
			return nil
		}
	}
	return nil
}

// add puts an entry into a slot without an instance, or replaces another entry.
func (t *agains) add(g *again) {
	hash := g.hash()
	to := t.at(hash, int(hash>>28)%ways)
	for way := range ways {
		if at := t.at(hash, way); t.all[at].x == nil {
			to = at
			break
		}
	}
	t.all[to] = *g
	g.x.again = to
}

// drop removes the entry of an instance.
func (t *agains) drop(x *instance) {
	if x.again < len(t.all) && t.all[x.again].x == x {
		t.all[x.again] = again{stretch: dropped}
	}
}

// stretch begins a new stretch of a thread.
func (a *Analysis) stretch(t *thread) {
	a.stretches++
	t.stretch = a.stretches
}

// seen adds an acquire to its instance and returns true, if the table has an entry for it.
func (a *Analysis) seen(t *thread, e *event.Event) bool {
	var g again
	if !g.fill(t, e.Stack) {
		return false
	}
	cached := a.again.find(&g)
	if cached == nil {
		return false
	}
	cached.x.last = momentOf(e)
	return true
}

// remember enters an instance in the table under its latest acquire. Instances of an opposed
// pattern are not entered, because OnAcquired must be called for each of their acquires.
func (a *Analysis) remember(p *pattern, x *instance, t *thread, e *event.Event) {
	if len(p.opposed) > 0 {
		return
	}
	if n := len(a.again.all); a.kept > n/2 && n < mostAgain {
		a.again.grow(2 * n)
	}
	g := again{x: x}
	if g.fill(t, e.Stack) {
		a.again.add(&g)
	}
}
