package lattice

import "slices"

// entry is an event in its chain. The fields that a step reads come first, in one or two cache
// lines.
type entry struct {
	steps uint64 // bit p: the monitor of property p reads a letter at the event
	Event
	clock []uint32 // the buffer of Clock, for reuse
	order int      // position among the relevant events in trace order, from 0
	held  []held   // locks that the slot holds after the event
	// before is the value of its variable before the event. It is the same in all runs, since
	// the writes of a variable are ordered.
	before uint64
}

// undo returns the values before the event: known or, if that is nil, a copy of those after the
// event with the write undone.
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

// held is a lock that a slot holds.
type held struct {
	lock   uint32
	shared bool
}

// chain holds the events of a slot that the queue or the history still needs. The index of an
// event is its number in the slot, from 1.
type chain struct {
	events []entry  // circular; its length is a power of two
	first  uint32   // index of the oldest event kept
	n      uint32   // number of events kept
	need   []uint64 // for each event beyond base: the key of the events that must come before it
}

// last returns the index of the newest event, 0 if there was none.
func (c *chain) last() uint32 { return c.first + c.n - 1 }

// at returns the event of an index, which must be kept.
func (c *chain) at(index uint32) *entry { return &c.events[index&uint32(len(c.events)-1)] }

// push appends an event, which the caller sets.
func (c *chain) push() *entry {
	if int(c.n) == len(c.events) {
		c.grow()
	}
	c.n++
	return c.at(c.last())
}

// setHeld sets m.held, for the newest event m, from that of the previous event.
func (c *chain) setHeld(m *entry) {
	m.held = m.held[:0]
	if c.n > 1 {
		m.held = append(m.held, c.at(c.last()-1).held...)
	}
	switch m.Locking {
	case Acquires, AcquiresShared:
		m.held = append(m.held, held{m.Lock, m.Locking == AcquiresShared})
	case Releases:
		at := slices.IndexFunc(m.held, func(h held) bool { return h.lock == m.Lock })
		if at >= 0 {
			m.held = slices.Delete(m.held, at, at+1)
		}
	}
}

// lockHeld reports whether another slot holds, at a cut, the lock that an event acquires, in a mode
// that excludes it.
func (l *Lattice) lockHeld(key []uint64, e *entry) bool {
	for s := range l.chains {
		c := &l.chains[s]
		index := l.base[s] + l.lane(key, uint32(s))
		if uint32(s) == e.Slot || index < c.first || c.n == 0 {
			continue
		}
		for _, h := range c.at(index).held {
			if h.lock == e.Lock && !(h.shared && e.Locking == AcquiresShared) {
				return true
			}
		}
	}
	return false
}

// grow doubles the buffer of events.
func (c *chain) grow() {
	buffer := make([]entry, max(16, 2*len(c.events)))
	for i := c.first; i < c.first+c.n; i++ {
		buffer[i&uint32(len(buffer)-1)] = *c.at(i)
	}
	c.events = buffer
}

// discardBelow drops the events below an index.
func (c *chain) discardBelow(below uint32) {
	if below > c.first {
		n := min(below-c.first, c.n)
		c.first, c.n = c.first+n, c.n-n
	}
}

// addSlots makes room for n slots.
func (l *Lattice) addSlots(n int) {
	if n <= len(l.chains) {
		return
	}
	for len(l.chains) < n {
		l.chains = append(l.chains, chain{first: 1})
		l.observed, l.floor = append(l.observed, 0), append(l.floor, 0)
	}
	l.repack(l.bits, l.base)
}

// rebase makes the floor of the current level the base of the lanes, and widens the lanes if the
// newest events do not fit even then.
func (l *Lattice) rebase() {
	bits := l.bits
	for s := range l.chains {
		for bits < 32 && l.chains[s].last()-l.floor[s] > 1<<(bits-1)-1 {
			bits *= 2
		}
	}
	l.repack(bits, l.floor)
}

// repack packs the current level, the next one and the needs of events into lanes of bits bits,
// counted from base.
func (l *Lattice) repack(bits uint, base []uint32) {
	l.packing.cloneTo(&l.old)
	l.bits = bits
	l.base = append(l.base[:0], base...)
	l.fit(len(l.chains))
	l.keyBuf = slices.Grow(l.keyBuf[:0], l.words)[:l.words]
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

// packNeed appends to chain.need the key of the events that must come before an event: those in
// its clock, without itself.
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
