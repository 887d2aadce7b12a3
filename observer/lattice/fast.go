package lattice

import "math/bits"

// Most cuts are one word, and most of these have lanes of 8 bits. What is here does the
// same as the general code for them, without slices; the tests run both.

// laneBits is how many bits a lane of 8 bits counts with.
const laneBits = 7

// bytewise is what cuts of one word with lanes of 8 bits are tried with.
type bytewise struct {
	on bool
	// need is, by slot<<laneBits|lane, what a cut with that lane must have for the event
	// after it to be enabled; where there is no event, what no cut has.
	need []uint64
	// heads has the list of edges of each of these events; all are empty between levels.
	heads []uint32
}

// reset forgets the events.
func (b *bytewise) reset(p *packing, slots int) {
	b.on = p.words == 1 && p.bits == 8
	b.need, b.heads = b.need[:0], b.heads[:0]
	if b.on {
		for range slots << laneBits {
			b.need, b.heads = append(b.need, p.top), append(b.heads, 0)
		}
	}
}

// take empties the list of an event and gives it.
func (b *bytewise) take(slot, lane uint32) uint32 {
	head := &b.heads[slot<<laneBits|lane]
	at := *head
	*head = 0
	return at
}

// collectBytes is collect for cuts of bytes, where nothing takes locks.
func (l *Lattice) collectBytes() {
	b, top, next, shift := &l.bytewise, l.top, l.edges.next, l.edges.shift&31
	keys := l.current.keys
	for i := len(keys) - 1; i >= 0; i-- {
		key := keys[i]
		for on := b.enabled(key, top); on != 0; on &= on - 1 {
			s := uint32(bits.TrailingZeros32(on))
			lane := uint32(key>>(s*8&63)) & (1<<laneBits - 1)
			head, id := &b.heads[s<<laneBits|lane], uint32(i)<<shift|s
			next[id] = *head
			*head = id + 1
		}
	}
}

// enabled is the slots, a bit each, whose event after a cut has all that it needs. It does
// not branch, since no branch could be foreseen.
func (b *bytewise) enabled(key, top uint64) (on uint32) {
	full, slot := key|top, uint(0)
	for at := uint64(0); at < uint64(len(b.need)); at += 1 << laneBits {
		missing := ((full-b.need[at|key&(1<<laneBits-1)])&top ^ top) >> laneBits
		on |= uint32((missing-1)>>63) << (slot & 31)
		key >>= 8
		slot++
	}
	return on
}

// tryWords is tryEdges for cuts of one word, where nothing takes locks.
func (l *Lattice) tryWords(e *entry, at uint32) {
	d, cuts := &l.edges, l.cuts[:0]
	for at != 0 {
		id := at - 1
		at = d.next[id]
		if i := id >> (d.shift & 31); i != d.skip.cut || e.Slot != d.skip.slot {
			cuts = append(cuts, i)
		}
	}
	l.cuts = cuts
	l.takeWords(e, cuts)
}

// tryBytes is try for cuts of bytes, where nothing takes locks. It does not branch.
func (l *Lattice) tryBytes(slot, lane uint32, e *entry) {
	top, need, shift := l.top, l.bytewise.need[slot<<laneBits|lane], slot*8&63
	keys := l.current.keys
	cuts, n := longer(l.cuts, len(keys)), 0
	for i, key := range keys {
		cuts[n] = uint32(i)
		missing := (key|top-need)&top ^ top | uint64(uint32(key>>shift)&(1<<laneBits-1)^lane)
		n += int((missing - 1) &^ missing >> 63)
	}
	l.cuts = cuts
	l.takeWords(e, cuts[:n])
}

// takeWords takes the steps from cuts of one word by event e.
func (l *Lattice) takeWords(e *entry, cuts []uint32) {
	from, unit, width := l.current, l.unit[e.Slot], l.o.Width
	steps, events := e.steps&1 != 0, e.Events
	if l.single {
		events &= l.props[0].events
	}
	for _, i := range cuts {
		key := from.keys[i] + unit
		j := l.table.findWord(key)
		made := j == absent
		if made {
			l.keyed[0] = key
			if width > 0 && l.next.n >= width {
				l.table.drop(l.next, l.keyed)
				continue
			}
			j = l.add(int(i), l.keyed, e)
		} else if j == dropped {
			continue
		}
		l.stats.Edges++
		if !l.single {
			l.step(int(i), j, e, l.meetingsOf(j), made)
			continue
		}
		set := from.sets[i]
		if !steps {
			l.next.sets[j] |= set
			continue
		}
		at := &l.meetings[j]
		if at.letter == 0 || at.events != events {
			l.turn(0, j, at, e)
		}
		at.set |= set
		if set&at.turning != 0 {
			l.violate(Violation{lattice: l, cut: int(i), event: e})
		}
	}
}

// findWord is find for keys of one word. An absent one has its place in free.
func (t *table) findWord(key uint64) int {
	mask := uint64(t.size - 1)
	for at := key * multiplier >> (t.shift & 63); ; at = (at + 1) & mask {
		p := &t.places[at]
		if p.generation != t.generation {
			t.free = at
			return absent
		}
		if p.tag == key {
			if p.cut&isDropped != 0 {
				return dropped
			}
			return int(p.cut)
		}
	}
}

// enterWord enters the key that was found to be absent last.
func (t *table) enterWord(v *level, key uint64, cut uint32) {
	if 2*t.n >= t.size {
		t.enter(v, key, cut, 1)
		return
	}
	t.places[t.free] = place{key, t.generation, cut}
	t.n++
}

// lowest makes each lane of low the smallest of those of all keys.
func (p *packing) lowest(low uint64, keys []uint64) uint64 {
	top, bits := p.top, p.bits&63
	for _, key := range keys {
		ge := (((low | top) - key) & top) >> (bits - 1)
		mask := ge<<bits - ge
		low = low&^mask | key&mask
	}
	return low
}

// mergeWords is merge for cuts of one word, where nothing takes locks.
func (m *merger) mergeWords() {
	hi := pastAll
	if m.hi != nil {
		hi = m.hi[0]
	}
	streams, keys := m.streams, m.l.current.keys
	mask := uint64(1)<<m.l.bits - 1
	for len(m.pending) < maxPending {
		least := pastAll
		for k := range streams {
			least = min(least, streams[k].word)
		}
		if least >= hi {
			return
		}
		m.out.keys = append(m.out.keys, least)
		m.made, m.missed = false, false
		for k := range streams {
			if s := &streams[k]; s.word == least {
				m.edge(s, s.event(uint32(keys[s.at]>>(s.shift&63)&mask)))
				m.advanceWord(s)
			}
		}
		m.close()
	}
}

// advanceWord is advance for cuts of one word.
func (m *merger) advanceWord(s *stream) {
	keys, top, mask := m.l.current.keys, m.l.top, uint64(1)<<m.l.bits-1
	need, shift, at := s.need, s.shift&63, s.at+1
	for ; at < len(keys); at++ {
		key := keys[at]
		if lane := key >> shift & mask; lane < uint64(len(need)) && (key|top-need[lane])&top == top {
			s.at, s.word = at, key+1<<shift
			return
		}
	}
	s.at, s.word = at, pastAll
}
