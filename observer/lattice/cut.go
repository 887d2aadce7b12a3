package lattice

// packing describes how a cut is packed into words, its key: one lane of bits bits for each
// slot holds the number of the slot's events in the cut, less base. The top bit of a lane is
// always 0, so that one subtraction, which borrows only from the top bits, compares all lanes.
type packing struct {
	bits  uint     // of a lane: 8, 16 or 32
	words int      // of a cut
	top   uint64   // the top bit of every lane
	base  []uint32 // by slot
	unit  []uint64 // by slot: 1 in its lane
}

// limit returns the largest count that a lane can hold.
func (p *packing) limit() uint32 { return 1<<(p.bits-1) - 1 }

// word and shift return the position of a slot's lane: the index of its word, and the number of
// its lowest bit there.
func (p *packing) word(slot uint32) int   { return int(uint(slot) * p.bits / 64) }
func (p *packing) shift(slot uint32) uint { return uint(slot) * p.bits % 64 }

// lane returns the count of a slot in a key, which is relative to base.
func (p *packing) lane(key []uint64, slot uint32) uint32 {
	return uint32(key[p.word(slot)]>>p.shift(slot)) & uint32(1<<p.bits-1)
}

// fit makes room for the lanes of n slots.
func (p *packing) fit(n int) {
	for len(p.base) < n {
		p.base = append(p.base, 0)
	}
	p.words = max(1, (n*int(p.bits)+63)/64)
	p.top = 0
	for at := p.bits - 1; at < 64; at += p.bits {
		p.top |= 1 << at
	}
	p.unit = p.unit[:0]
	for s := range n {
		p.unit = append(p.unit, 1<<p.shift(uint32(s)))
	}
}

// pack appends the key of a cut to into.
func (p *packing) pack(into []uint64, cut []uint32) []uint64 {
	at := len(into)
	for range p.words {
		into = append(into, 0)
	}
	for s, v := range cut {
		into[at+p.word(uint32(s))] |= uint64(v-p.base[s]) << p.shift(uint32(s))
	}
	return into
}

// unpack appends the cut of a key to into.
func (p *packing) unpack(into []uint32, key []uint64) []uint32 {
	for s, b := range p.base {
		into = append(into, b+p.lane(key, uint32(s)))
	}
	return into
}

// covers reports whether a has at least need in every lane.
func (p *packing) covers(a, need []uint64) bool {
	for i, n := range need {
		if ((a[i]|p.top)-n)&p.top != p.top {
			return false
		}
	}
	return true
}

// least makes each lane of a the smaller one of the lanes of a and b.
func (p *packing) least(a, b []uint64) {
	for i, v := range b {
		ge := (((a[i] | p.top) - v) & p.top) >> (p.bits - 1) // 1 where a >= b
		mask := ge<<p.bits - ge                              // all bits of these lanes
		a[i] = a[i]&^mask | v&mask
	}
}

// cloneTo makes q a copy of p that shares no memory with it.
func (p *packing) cloneTo(q *packing) {
	base, unit := append(q.base[:0], p.base...), append(q.unit[:0], p.unit...)
	*q = *p
	q.base, q.unit = base, unit
}
