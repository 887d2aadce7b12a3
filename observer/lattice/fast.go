package lattice

// Cuts of one word (eight slots of 8 bits, and fewer of more) are most cuts. What is here
// does the same as the general code for them, without slices; the tests run both.

func hashWord(key uint64) uint64 {
	h := key * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// eachWord is eachEdge for cuts of one word.
func (l *Lattice) eachWord(f func(i int, slot, lane uint32)) {
	skip, top, bits := &l.edges.skip, l.top, l.bits
	mask := uint64(1)<<bits - 1
	for i := l.current.n - 1; i >= 0; i-- {
		key := l.current.keys[i]
		at := uint(0)
		for s := range l.chains {
			c := &l.chains[s]
			lane := key >> (at & 63) & mask
			at += bits
			if lane >= uint64(len(c.need)) || ((key|top)-c.need[lane])&top != top {
				continue
			}
			if uint32(s) == skip.slot && uint32(i) == skip.cut {
				continue
			}
			f(i, uint32(s), uint32(lane))
		}
	}
}

// edgeWord is edge for cuts of one word.
func (l *Lattice) edgeWord(i int, slot, lane uint32) {
	key := l.current.keys[i] + l.unit[slot]
	t, keys := &l.table, l.next.keys
	mask := uint64(t.size - 1)
	at := hashWord(key) & mask
	for {
		s := t.slots[at]
		if s == 0 {
			break
		}
		if s&isDropped == 0 {
			if keys[s-1] == key {
				l.stats.Edges++
				l.step(i, int(s-1), l.chains[slot].at(l.base[slot]+lane+1), false)
				return
			}
		} else if t.dropped[s&^isDropped] == key {
			return
		}
		at = (at + 1) & mask
	}
	l.keyed = append(l.keyed[:0], key)
	if l.o.Width > 0 && l.next.n >= l.o.Width {
		t.drop(l.next, l.keyed)
		return
	}
	l.stats.Edges++
	e := l.chains[slot].at(l.base[slot] + lane + 1)
	l.step(i, l.add(i, l.keyed, e), e, true)
}
