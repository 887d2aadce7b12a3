package lattice

// Cuts of one word (eight slots of 8 bits, and fewer of more) are most cuts. What is here
// does the same as the general code for them, without slices; the tests run both.

// collectWord is collect for cuts of one word, where nothing takes locks.
func (l *Lattice) collectWord() {
	d, top := &l.edges, l.top
	mask := uint64(1)<<l.bits - 1
	keys := l.current.keys
	for i := len(keys) - 1; i >= 0; i-- {
		key := keys[i]
		for k := range d.active {
			a := &d.active[k]
			lane := key >> (a.shift & 63) & mask
			if lane < uint64(len(a.need)) && (key|top-a.need[lane])&top == top {
				head, id := &a.heads[uint32(lane)-a.lane], uint32(i)<<(d.shift&31)|a.slot
				d.next[id] = *head
				*head = id + 1
			}
		}
	}
}

// findWord is find for keys of one word.
func (t *table) findWord(key uint64) int {
	mask := uint64(t.size - 1)
	for at := key * multiplier >> (t.shift & 63); ; at = (at + 1) & mask {
		p := &t.places[at]
		if p.generation != t.generation {
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

// mergeWords is merge for cuts of one word, where nothing takes locks.
func (m *merger) mergeWords() {
	hi := pastAll
	if m.hi != nil {
		hi = m.hi[0]
	}
	streams := m.streams
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
				m.edge(s, uint32(m.l.current.keys[s.at]>>(s.shift&63)&mask))
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
