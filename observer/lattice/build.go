package lattice

import (
	"math/bits"
	"slices"
)

// edges holds the enabled events of the cuts of a level. The edge numbered cut<<shift|slot is by
// the next event of the slot after the cut. The edges by one event form a list, ordered by cut.
type edges struct {
	shift  uint
	heads  []uint32 // by event beyond the floor, those of a slot side by side: the first edge of its list, plus 1
	next   []uint32 // by edge: the next one in its list, plus 1
	active []active // the slots with events beyond the floor
	at     []uint32 // by slot: the index of its first element in heads
	skip   skip     // the edge that is not taken again
}

// active is a slot with events beyond the floor.
type active struct {
	slot   uint32
	lane   uint32   // the floor's count in the slot, less base
	shift  uint     // the lowest bit of the slot's lane in its word
	need   []uint64 // of the slot's chain
	heads  []uint32 // the slot's part of edges.heads
	events []entry  // of the slot's chain
	base   uint32   // packing.base of the slot
}

// skip is the edge of the observed run, which is taken first and must not be taken again. If slot
// is no slot, there is none.
type skip struct{ cut, slot uint32 }

// waiting is an event in the queue.
type waiting struct{ slot, index uint32 }

// advance builds and closes levels until one is not complete. Final reports that the run is
// over.
func (l *Lattice) advance(final bool) {
	for l.level < l.total {
		waited := final || l.o.Queue > 0 && l.queued >= l.o.Queue
		if l.o.Width == 0 {
			if !waited {
				return
			}
			l.buildUnbounded()
		} else if !l.building {
			l.build()
		}
		if l.next.n == 0 || l.o.Width > 0 && l.next.n < l.o.Width && !waited {
			return
		}
		l.advanceObserved()
		l.closeLevel()
	}
}

// build begins the next level: it tries all waiting events, in trace order, on all cuts of the
// current level.
func (l *Lattice) build() {
	l.building = true
	l.table.reset(2 * l.current.n)
	l.edges.skip = skip{slot: uint32(len(l.chains))}
	if l.o.Rule == Centred {
		l.centre()
	}
	l.collect()
	rest := l.waiting[:0]
	for _, w := range l.waiting {
		beyond := w.index - l.floor[w.slot] - 1
		if int32(beyond) < 0 {
			continue
		}
		rest = append(rest, w)
		e := l.chains[w.slot].at(w.index)
		if l.bytewise.on && !l.locks {
			l.takeBytes(e, l.bytewise.take(w.slot, w.index-l.base[w.slot]-1))
		} else {
			l.tryEdges(e, l.edges.heads[l.edges.at[w.slot]+beyond])
		}
	}
	l.waiting = rest
}

// tryEdges takes the edges of a list, all of which are by event e. The first is edge at-1; if at
// is 0, the list is empty.
func (l *Lattice) tryEdges(e *entry, at uint32) {
	d := &l.edges
	for at != 0 {
		id := at - 1
		at = d.next[id]
		if i := id >> d.shift; i != d.skip.cut || e.Slot != d.skip.slot {
			l.edge(int(i), e)
		}
	}
}

// collect finds the edges and lists them by event. It visits the last cut first, since
// it inserts each edge at the head of its list.
func (l *Lattice) collect() {
	if l.bytewise.on && !l.locks {
		l.collectBytes()
		return
	}
	d := &l.edges
	d.shift = uint(bits.Len(uint(len(l.chains))))
	d.next = slices.Grow(d.next[:0], l.current.n<<d.shift)[:l.current.n<<d.shift]
	l.activate()
	l.restrict()
	for i := l.current.n - 1; i >= 0; i-- {
		key := l.current.key(i, l.words)
		for k := range d.active {
			a := &d.active[k]
			if lane := l.lane(key, a.slot); l.tried(i, a.slot) && l.enabled(key, a.slot, lane) {
				head, id := &a.heads[lane-a.lane], uint32(i)<<d.shift|a.slot
				d.next[id] = *head
				*head = id + 1
			}
		}
	}
}

// activate sets edges.active, and makes an empty list of edges for each event beyond the
// floor.
func (l *Lattice) activate() {
	d := &l.edges
	d.heads, d.at, d.active = d.heads[:0], d.at[:0], d.active[:0]
	for s := range l.chains {
		d.at = append(d.at, uint32(len(d.heads)))
		for range l.chains[s].last() - l.floor[s] {
			d.heads = append(d.heads, 0)
		}
	}
	for s := range l.chains {
		if n := l.chains[s].last() - l.floor[s]; n > 0 {
			d.active = append(d.active, active{
				slot: uint32(s), lane: l.floor[s] - l.base[s], shift: l.shift(uint32(s)),
				need: l.chains[s].need, heads: d.heads[d.at[s] : d.at[s]+n],
				events: l.chains[s].events, base: l.base[s],
			})
		}
	}
}

// enabled reports whether the next event of a slot after a cut may come next: whether the cut
// contains all events that come before it, and no other slot holds the lock that it acquires.
func (l *Lattice) enabled(key []uint64, slot, lane uint32) bool {
	c := &l.chains[slot]
	at := int(lane) * l.words
	if at >= len(c.need) || !l.covers(key, c.need[at:at+l.words]) {
		return false
	}
	if l.locks {
		e := c.at(l.base[slot] + lane + 1)
		return e.Locking == NoLock || e.Locking == Releases || !l.lockHeld(key, e)
	}
	return true
}

// try takes the steps by a new event from the cuts of the current level where it is enabled.
func (l *Lattice) try(slot, index uint32) {
	lane, e := index-1-l.base[slot], l.chains[slot].at(index)
	if l.bytewise.on && !l.locks {
		l.tryBytes(slot, lane, e)
		return
	}
	for i := range l.current.n {
		key := l.current.key(i, l.words)
		if l.lane(key, slot) == lane && l.enabled(key, slot, lane) {
			l.edge(i, e)
		}
	}
}

// centre makes the cut of the observed run the first of the next level.
func (l *Lattice) centre() {
	i := l.current.observed
	if i < 0 || l.level-l.arrivedBase >= len(l.arrived) {
		return
	}
	s := l.arrived[l.level-l.arrivedBase]
	l.edges.skip = skip{uint32(i), s}
	l.edge(i, l.chains[s].at(l.observed[s]+1))
}

// edge takes the step from a cut of the current level by event e.
func (l *Lattice) edge(i int, e *entry) {
	var j int
	if l.words == 1 {
		l.keyBuf[0] = l.current.keys[i] + l.unit[e.Slot]
		j = l.table.findWord(l.keyBuf[0])
	} else {
		copy(l.keyBuf, l.current.key(i, l.words))
		l.keyBuf[l.word(e.Slot)] += l.unit[e.Slot]
		j = l.table.find(l.next, l.keyBuf)
	}
	switch {
	case j == dropped:
		return
	case j >= 0:
		l.step(i, j, e, l.pendingSetsOf(j), false)
	case l.o.Width > 0 && l.next.n >= l.o.Width:
		l.table.drop(l.next, l.keyBuf)
		return
	default:
		j = l.add(i, l.keyBuf, e)
		l.step(i, j, e, l.pendingSetsOf(j), true)
	}
	l.stats.Edges++
}

// add appends to the next level the cut with a key, which follows from cut i of the current
// level by event e, and returns its index.
func (l *Lattice) add(i int, key []uint64, e *entry) int {
	v, m, n, j := l.next, len(l.o.Initial), len(l.props), l.next.n
	if (j+1)*l.words > len(v.keys) || (j+1)*m > len(v.values) || (j+1)*n > len(v.sets) {
		l.widen(v, l.room(j))
	}
	if l.words == 1 {
		v.keys[j] = key[0]
	} else {
		copy(v.keys[j*l.words:], key)
	}
	copy(v.values[j*m:], l.current.values[i*m:(i+1)*m])
	if e.Variable >= 0 {
		v.values[j*m+e.Variable] = e.Value
	}
	for p := j * n; p < (j+1)*n; p++ {
		v.sets[p], l.pendingSets[p] = 0, pendingSet{}
	}
	v.n++
	l.table.put(v, l.words)
	return j
}

// widen makes room for n cuts in a level that is built in a window. Its arrays are longer
// than their content, so that adding a cut writes no slice header: that would cost a write
// barrier during garbage collection.
func (l *Lattice) widen(v *level, n int) {
	v.keys = longer(v.keys, n*l.words)
	v.values = longer(v.values, n*len(l.o.Initial))
	v.sets = longer(v.sets, n*len(l.props))
	l.pendingSets = longer(l.pendingSets, n*len(l.props))
}

// longer returns s with a length of at least n.
func longer[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	return slices.Grow(s, n-len(s))[:n]
}

// pendingSetsOf returns the pending sets of a cut of the next level, one a property.
func (l *Lattice) pendingSetsOf(j int) []pendingSet {
	return l.pendingSets[j*len(l.props) : (j+1)*len(l.props)]
}

// step moves the monitors along the edge from cut i of the current level to cut j of the next,
// and unites their sets with those of cut j, unless that is new.
func (l *Lattice) step(i, j int, e *entry, pending []pendingSet, isNew bool) {
	n := len(l.props)
	for p, a := range l.props {
		to, fresh := l.current.sets[i*n+p], false
		if a.masked() {
			at := &pending[p]
			if e.steps>>p&1 == 0 {
				l.next.sets[j*n+p] |= to
				continue
			}
			if at.letter == 0 || at.events != e.Events&a.events {
				l.switchLetter(p, j, at, e)
			}
			at.set |= to
			if to&at.turning != 0 {
				l.violate(Violation{Property: p, lattice: l, cut: i, event: e})
			}
			continue
		}
		if e.steps>>p&1 != 0 {
			letter := l.letterOf(j, &pending[p], a, e)
			// The comparison is false for 0 (not computed) and with the flag turnsBad.
			if known := a.steps[int(to)*a.stride+int(letter)]; known-1 < turnsBad-1 {
				to = known - 1
			} else {
				to, fresh = a.step(to, letter)
			}
		}
		at := &l.next.sets[j*n+p]
		if !isNew && *at != to {
			to = a.union(*at, to)
		}
		*at = to
		if fresh {
			l.violate(Violation{Property: p, lattice: l, cut: i, event: e})
		}
	}
}

// letterOf returns the number of the letter of an edge by e to cut j of the next level. Known
// caches the letter of the previous edge to that cut.
func (l *Lattice) letterOf(j int, known *pendingSet, a *automaton, e *entry) uint32 {
	if events := e.Events & a.events; known.letter == 0 || known.events != events {
		m := len(l.o.Initial)
		*known = pendingSet{letter: a.letter(l.next.values[j*m:(j+1)*m], events) + 1, events: events}
	}
	return known.letter - 1
}

// switchLetter flushes the pending set of cut j of the next level and begins one with the letter of
// e.
func (l *Lattice) switchLetter(p, j int, at *pendingSet, e *entry) {
	a, m := l.props[p], len(l.o.Initial)
	if at.set != 0 {
		l.next.sets[j*len(l.props)+p] |= a.flush(at)
	}
	events := e.Events & a.events
	id := a.letter(l.next.values[j*m:(j+1)*m], events)
	*at = pendingSet{letter: id + 1, turning: a.turning[id], events: events}
}

// flushPending makes the pending sets of the cuts of the next level step.
func (l *Lattice) flushPending() {
	if l.o.Width == 0 {
		return
	}
	for p, a := range l.props {
		if !a.masked() {
			continue
		}
		for i := p; i < l.next.n*len(l.props); i += len(l.props) {
			l.next.sets[i] |= a.flush(&l.pendingSets[i])
		}
	}
}

// advanceObserved moves the observed run on by one event, with sets of its own.
func (l *Lattice) advanceObserved() {
	if l.level-l.arrivedBase >= len(l.arrived) {
		return
	}
	s := l.arrived[l.level-l.arrivedBase]
	if l.level-l.arrivedBase >= 4096 {
		n := copy(l.arrived, l.arrived[l.level-l.arrivedBase:])
		l.arrived, l.arrivedBase = l.arrived[:n], l.level
	}
	l.observed[s]++
	l.keyBuf = l.pack(l.keyBuf[:0], l.observed)
	j := l.find(l.keyBuf)
	if j < 0 || len(l.current.run) != len(l.props) {
		return
	}
	l.next.observed = j
	e := l.chains[s].at(l.observed[s])
	for p, a := range l.props {
		to, fresh := l.current.run[p], false
		if e.steps>>p&1 != 0 {
			to, fresh = a.step(to, l.letterOf(j, &pendingSet{}, a, e))
		}
		l.next.run = append(l.next.run, to)
		if fresh && !a.bad(l.current.run[p]) {
			l.violate(Violation{Property: p, Observed: true, lattice: l, event: e})
		}
	}
}

// find returns the index of the cut of the next level with a key; it is negative if there is
// none.
func (l *Lattice) find(key []uint64) int {
	if l.o.Width > 0 {
		return l.table.find(l.next, key)
	}
	if j, ok := l.next.search(key); ok {
		return j
	}
	return absent
}
