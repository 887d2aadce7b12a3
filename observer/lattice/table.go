package lattice

import "slices"

// table finds the cuts of the level that is built by their keys, and those that it had
// no room for: open addressing, a slot holds the number of a cut plus 1.
type table struct {
	slots   []uint32
	size    int // slots in use: a power of two
	n       int
	dropped []uint64 // keys
	lost    int
}

const isDropped = 1 << 31

// reset empties the table and makes it large enough for about n keys.
func (t *table) reset(n int) {
	t.size = 64
	for t.size < 2*n {
		t.size *= 2
	}
	if t.size > len(t.slots) {
		t.slots = make([]uint32, t.size)
	} else {
		clear(t.slots[:t.size])
	}
	t.n, t.lost, t.dropped = 0, 0, t.dropped[:0]
}

func hash(key []uint64) uint64 {
	h := uint64(0)
	for _, k := range key {
		h = (h ^ k) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	return h
}

// find gives the number of a cut, -1 for one that was dropped.
func (t *table) find(v *level, key []uint64) (int, bool) {
	mask := uint64(t.size - 1)
	for at := hash(key) & mask; ; at = (at + 1) & mask {
		s := t.slots[at]
		switch {
		case s == 0:
			return 0, false
		case s&isDropped != 0:
			if i := int(s &^ isDropped); slices.Equal(t.dropped[i*len(key):(i+1)*len(key)], key) {
				return -1, true
			}
		case slices.Equal(v.key(int(s-1), len(key)), key):
			return int(s - 1), true
		}
	}
}

// put enters the last cut of v.
func (t *table) put(v *level, words int) {
	if 2*t.n >= t.size {
		t.enlarge(v, words)
	}
	t.enter(v.key(v.n-1, words), uint32(v.n))
}

// drop enters a cut that there is no room for.
func (t *table) drop(v *level, key []uint64) {
	if 2*t.n >= t.size {
		t.enlarge(v, len(key))
	}
	t.dropped = append(t.dropped, key...)
	t.enter(key, uint32(t.lost)|isDropped)
	t.lost++
	v.dropped++
}

func (t *table) enter(key []uint64, s uint32) {
	mask := uint64(t.size - 1)
	at := hash(key) & mask
	for t.slots[at] != 0 {
		at = (at + 1) & mask
	}
	t.slots[at] = s
	t.n++
}

// enlarge doubles the table; v may have one cut more than was entered.
func (t *table) enlarge(v *level, words int) {
	n := t.n - t.lost
	lost, dropped := t.lost, t.dropped
	t.reset(t.size)
	t.lost, t.dropped = lost, dropped
	t.enterAll(v, n, words)
}

func (t *table) enterAll(v *level, n, words int) {
	for i := range n {
		t.enter(v.key(i, words), uint32(i+1))
	}
	for i := range t.lost {
		t.enter(t.dropped[i*words:(i+1)*words], uint32(i)|isDropped)
	}
}

// rekey enters all anew after the keys have been packed in another way.
func (t *table) rekey(v *level, old, to *packing, scratch []uint32) []uint32 {
	dropped := level{n: t.lost, keys: t.dropped}
	scratch = dropped.repack(old, to, scratch)
	t.dropped = dropped.keys
	clear(t.slots[:t.size])
	t.n = 0
	t.enterAll(v, v.n, to.words)
	return scratch
}
