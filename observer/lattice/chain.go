package lattice

import "slices"

// entry is an event in its chain. What taking a step reads comes first, in one line of the
// cache or two.
type entry struct {
	steps uint64 // bit p: property p reads a letter
	Event
	clock []uint32 // the buffer of Clock, used again
	order int      // its place in the trace, from 0
	held  []held   // locks that the thread holds after it
	// before is what its variable held before: in all runs the same, since the writes of a
	// variable are ordered.
	before uint64
}

// undo returns the values before the event, if they are not known yet.
func (e *entry) undo(known, after []uint64) []uint64 {
	if known != nil {
		return known
	}
	known = append([]uint64{}, after...)
	if e.Variable >= 0 {
		known[e.Variable] = e.before
	}
	return known
}

type held struct {
	lock   uint32
	shared bool
}

// chain is the events of a slot: those that the queue or the history still needs, by
// their index in the slot, from 1.
type chain struct {
	ring  []entry // its length is a power of two
	first uint32  // index of the oldest kept
	n     uint32
	need  []uint64 // for each event beyond base, what a cut must have for it to be enabled
}

// last is the index of the newest event, 0 if none came.
func (c *chain) last() uint32 { return c.first + c.n - 1 }

// at is the event of an index that is kept.
func (c *chain) at(index uint32) *entry { return &c.ring[index&uint32(len(c.ring)-1)] }

func (c *chain) push() *entry {
	if int(c.n) == len(c.ring) {
		c.grow()
	}
	c.n++
	return c.at(c.last())
}

// holds gives the newest event what its thread holds after it.
func (c *chain) holds(m *entry) {
	m.held = m.held[:0]
	if c.n > 1 {
		m.held = append(m.held, c.at(c.last()-1).held...)
	}
	switch m.Locking {
	case Takes, TakesShared:
		m.held = append(m.held, held{m.Lock, m.Locking == TakesShared})
	case Releases:
		at := slices.IndexFunc(m.held, func(h held) bool { return h.lock == m.Lock })
		if at >= 0 {
			m.held = slices.Delete(m.held, at, at+1)
		}
	}
}

// kept reports whether another slot holds, in a cut, a lock that an event wants to take.
func (l *Lattice) kept(key []uint64, e *entry) bool {
	for s := range l.chains {
		c := &l.chains[s]
		index := l.base[s] + l.lane(key, uint32(s))
		if uint32(s) == e.Slot || index < c.first || c.n == 0 {
			continue
		}
		for _, h := range c.at(index).held {
			if h.lock == e.Lock && !(h.shared && e.Locking == TakesShared) {
				return true
			}
		}
	}
	return false
}

func (c *chain) grow() {
	ring := make([]entry, max(16, 2*len(c.ring)))
	for i := c.first; i < c.first+c.n; i++ {
		ring[i&uint32(len(ring)-1)] = *c.at(i)
	}
	c.ring = ring
}

// forget drops the events below an index.
func (c *chain) forget(below uint32) {
	if below > c.first {
		gone := min(below-c.first, c.n)
		c.first, c.n = c.first+gone, c.n-gone
	}
}

// seat makes room for n slots.
func (l *Lattice) seat(n int) {
	if n <= len(l.chains) {
		return
	}
	for len(l.chains) < n {
		l.chains = append(l.chains, chain{first: 1})
		l.observed, l.floor = append(l.observed, 0), append(l.floor, 0)
	}
	l.repack(l.bits, l.base)
}

// rebase counts the lanes from the floor of the current level, and widens them if the
// newest events do not fit even so.
func (l *Lattice) rebase() {
	bits := l.bits
	for s := range l.chains {
		for bits < 32 && l.chains[s].last()-l.floor[s] > 1<<(bits-1)-1 {
			bits *= 2
		}
	}
	l.repack(bits, l.floor)
}

// repack writes the current level, the next one and what events need in lanes of bits
// bits counted from base.
func (l *Lattice) repack(bits uint, base []uint32) {
	l.packing.cloneTo(&l.old)
	l.bits = bits
	l.base = append(l.base[:0], base...)
	l.fit(len(l.chains))
	l.keyed = slices.Grow(l.keyed[:0], l.words)[:l.words]
	l.bytewise.reset(&l.packing, len(l.chains), l.o.Width)
	l.cuts = l.current.repack(&l.old, &l.packing, l.cuts)
	l.cuts = l.next.repack(&l.old, &l.packing, l.cuts)
	if l.building {
		l.cuts = l.table.rekey(l.next, &l.old, &l.packing, l.cuts)
	}
	for s := range l.chains {
		c := &l.chains[s]
		c.need = c.need[:0]
		for i := l.base[s] + 1; i <= c.last(); i++ {
			l.packNeed(uint32(s), i)
		}
	}
}

// packNeed appends what the newest event of a chain needs: all that it knows, but for
// itself.
func (l *Lattice) packNeed(slot uint32, index uint32) {
	c := &l.chains[slot]
	at := len(c.need)
	for range l.words {
		c.need = append(c.need, 0)
	}
	need := c.need[at:]
	clock := c.at(index).Clock
	for s, v := range clock[:min(len(clock), len(l.base))] {
		if uint32(s) == slot {
			v = index - 1
		}
		if v > l.base[s] {
			need[l.word(uint32(s))] |= uint64(v-l.base[s]) << l.shift(uint32(s))
		}
	}
	if l.bytewise.on {
		l.bytewise.need[slot<<laneBits|(index-l.base[slot]-1)] = need[0]
	}
}
