package lattice

import "math/bits"

// Most keys are one word, and most of these have lanes of 8 bits. For these the functions of
// this file do the same as the general code, without slices; the tests run both.

// laneBits is the number of bits of a count in a lane of 8 bits.
const laneBits = 7

// bytewise finds the edges of cuts whose keys are one word with lanes of 8 bits.
type bytewise struct {
	on bool // keys are such words, and a level has at most maxBytewise cuts
	// need holds, by slot<<laneBits|lane, the key of the events that must come before the next
	// event of the slot after a cut with that lane. Where there is no event, it is a key that no
	// cut covers.
	need []uint64
	// after holds, for each element of need, the set of cuts that its event may follow: a bit for
	// each cut, in setLen words. All sets are empty between levels.
	after  []uint64
	setLen int      // number of words of a set of cuts
	cuts   []uint64 // scratch: a set of cuts
}

// maxBytewise is the largest window for which bytewise is used: sets of cuts are then small.
const maxBytewise = 1 << 10

// reset removes all events. A level has at most cuts cuts.
func (b *bytewise) reset(p *packing, slots, cuts int) {
	b.on = p.words == 1 && p.bits == 8 && cuts > 0 && cuts <= maxBytewise
	b.need = b.need[:0]
	if !b.on {
		return
	}
	b.setLen = (cuts + 63) / 64
	for range slots << laneBits {
		b.need = append(b.need, p.top)
	}
	b.after = longer(b.after, len(b.need)*b.setLen)
	clear(b.after)
	b.cuts = longer(b.cuts, b.setLen)
}

// take returns the set of an event in after, as scratch, and empties it there.
func (b *bytewise) take(slot, lane uint32) []uint64 {
	at := int(slot<<laneBits|lane) * b.setLen
	set := b.after[at:][:b.setLen]
	copy(b.cuts, set)
	clear(set)
	return b.cuts
}

// collectBytes is collect for lanes of 8 bits, where no event acquires locks.
func (l *Lattice) collectBytes() {
	b, top := &l.bytewise, l.top
	for i, key := range l.current.keys {
		at, bit := i>>6, uint64(1)<<(i&63)
		for on := b.enabled(key, top); on != 0; on &= on - 1 {
			s := uint32(bits.TrailingZeros32(on))
			lane := uint32(key>>(s*8&63)) & (1<<laneBits - 1)
			b.after[int(s<<laneBits|lane)*b.setLen+at] |= bit
		}
	}
	if skip := &l.edges.skip; int(skip.slot) < len(l.chains) {
		lane := l.lane(l.current.key(int(skip.cut), 1), skip.slot)
		b.after[int(skip.slot<<laneBits|lane)*b.setLen+int(skip.cut>>6)] &^= 1 << (skip.cut & 63)
	}
}

// enabled returns the set of slots, a bit each, for whose next event a cut contains all events
// that must come before. It does not branch, since the branches would be unpredictable: missing
// is 0 if the subtraction leaves the top bits of all lanes, and only then missing-1 is negative.
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

// tryBytes is try for lanes of 8 bits, where no event acquires locks. Its loop over the cuts
// does not branch: missing is 0 only for the cuts that contain all events that must come before
// e, and whose lane of the slot has exactly the events before e.
func (l *Lattice) tryBytes(slot, lane uint32, e *entry) {
	top, need, shift := l.top, l.bytewise.need[slot<<laneBits|lane], slot*8&63
	cuts := l.bytewise.cuts
	clear(cuts)
	for i, key := range l.current.keys {
		missing := (key|top-need)&top ^ top | uint64(uint32(key>>shift)&(1<<laneBits-1)^lane)
		cuts[i>>6] |= (missing - 1) &^ missing >> 63 << (i & 63)
	}
	l.takeBytes(e, cuts)
}

// takeBytes takes the steps from a set of cuts by event e.
func (l *Lattice) takeBytes(e *entry, cuts []uint64) {
	from, unit, width := l.current, l.unit[e.Slot], l.o.Width
	steps, events := e.steps&1 != 0, e.Events
	if l.single {
		events &= l.props[0].events
	}
	for w := 0; w < len(cuts); {
		if cuts[w] == 0 {
			w++
			continue
		}
		i := w<<6 | bits.TrailingZeros64(cuts[w])
		cuts[w] &= cuts[w] - 1
		key := from.keys[i] + unit
		j := l.table.findWord(key)
		isNew := j == absent
		if isNew {
			l.keyBuf[0] = key
			if l.next.n >= width {
				l.table.drop(l.next, l.keyBuf)
				continue
			}
			j = l.add(i, l.keyBuf, e)
		} else if j == dropped {
			continue
		}
		l.stats.Edges++
		if !l.single {
			l.step(i, j, e, l.pendingSetsOf(j), isNew)
			continue
		}
		set := from.sets[i]
		if !steps {
			l.next.sets[j] |= set
			continue
		}
		at := &l.pendingSets[j]
		if at.letter == 0 || at.events != events {
			l.switchLetter(0, j, at, e)
		}
		at.set |= set
		if set&at.turning != 0 {
			l.violate(Violation{lattice: l, cut: i, event: e})
		}
	}
}

// findWord is find for keys of one word. If the key is absent, it sets free to the entry that
// the key would have.
func (t *table) findWord(key uint64) int {
	mask := uint64(t.size - 1)
	for at := key * multiplier >> (t.shift & 63); ; at = (at + 1) & mask {
		p := &t.entries[at]
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

// enterWord enters the key that findWord has just reported absent.
func (t *table) enterWord(v *level, key uint64, cut uint32) {
	if 2*t.n >= t.size {
		t.enter(v, key, cut, 1)
		return
	}
	t.entries[t.free] = tableEntry{key, t.generation, cut}
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

// mergeWords is merge for keys of one word, where no event acquires locks.
func (m *merger) mergeWords() {
	hi := pastAll
	if m.hi != nil {
		hi = m.hi[0]
	}
	streams, keys, sets := m.streams, m.l.current.keys, m.l.current.sets
	mask, single := uint64(1)<<m.l.bits-1, m.l.single
	for len(m.pending) < maxPending {
		least := pastAll
		for k := range streams {
			least = min(least, streams[k].word)
		}
		if least >= hi {
			return
		}
		m.out.keys = append(m.out.keys, least)
		m.hasEdge, m.missed = false, false
		for k := range streams {
			s := &streams[k]
			if s.word != least {
				continue
			}
			e := s.event(uint32(keys[s.at] >> (s.shift & 63) & mask))
			if single {
				m.edges++
				m.edgeSingle(sets[s.at], s, e)
			} else {
				m.edge(s, e)
			}
			m.advanceWord(s)
		}
		m.close()
	}
}

// edgeSingle is edge for a single property whose sets are masks. Set is that of the cut at which
// the stream is.
func (m *merger) edgeSingle(set uint32, s *stream, e *entry) {
	at := &m.views[0].last
	if !m.hasEdge {
		m.add(s, e)
	}
	if e.steps&1 == 0 {
		m.out.sets[m.out.n] |= set
		return
	}
	if at.letter == 0 || at.events != e.Events&m.views[0].a.events {
		m.switchLetter(0, e)
	}
	at.set |= set
	if set&at.turning != 0 {
		m.turn(0, s, e)
	}
}

// advanceWord is advance for keys of one word, where no event acquires locks.
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
