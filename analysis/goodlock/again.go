package goodlock

import "github.com/tracepredict/tracepredict/observer/event"

// again is a nesting that a thread does again and again: all that tells one from
// another, in one line of a processor's cache, and where its instance is. With
// thousands of nestings, to follow tree, pattern and instance each time would be to
// wait for memory a dozen times.
type again struct {
	x       *instance
	stretch uint64 // thread.stretch
	thread  event.ThreadID
	lock    event.ObjectID // the one wanted
	place   event.StackID
	modes   uint16 // a bit for each lock held, outermost lowest, and then of the wanted one: it is shared
	depth   uint16 // of held
	held    [maxAgain]taken
	_       [8]byte // a line has 64
}

type taken struct {
	lock  event.ObjectID
	place event.StackID
}

// maxAgain is how many locks may be held around one that is found again.
const maxAgain = 3

// The bounds of how many nestings are found again. They grow with the instances.
const fewAgain, mostAgain = 1 << 8, 1 << 18

// fill describes the acquisition that t has just made; false if it is too deep.
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
		g.held[i] = taken{h.Lock(), h.Place}
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

// same reports whether the two are one nesting in one stretch of a thread.
func (g *again) same(o *again) bool {
	return g.stretch == o.stretch && g.thread == o.thread && g.lock == o.lock && g.place == o.place &&
		g.modes == o.modes && g.depth == o.depth && g.held == o.held
}

// agains is a table of a power of two, in which a nesting stands where its hash says or
// in one of the next places: most are found, or known not to be there, by one look.
type agains struct {
	all []again
}

// ways is in how many places a nesting may be.
const ways = 8

// The stretches of places without a nesting. No thread's is one of them.
const (
	free    = 0          // and those behind were never needed
	dropped = ^uint64(0) // there may be others behind it
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

// add puts a nesting into a free place, or else in place of another.
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

// drop makes an instance not be found any more.
func (t *agains) drop(x *instance) {
	if x.again < len(t.all) && t.all[x.again].x == x {
		t.all[x.again] = again{stretch: dropped}
	}
}

// stretch begins another stretch of a thread.
func (a *Analysis) stretch(t *thread) {
	a.stretches++
	t.stretch = a.stretches
}

// seen adds an acquisition to the instance that it is one more of, if that is near.
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

// remember makes an instance be found by its latest acquisition. Instances of a pattern
// that is opposed are not: OnTaken must be called for each of their acquisitions.
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
