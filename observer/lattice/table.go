package lattice

import (
	"math/bits"
	"slices"
)

// table finds the cuts of the level that is built by their keys, and those that it had
// no room for: open addressing. A place holds a tag and the number of a cut; what is of
// an earlier generation is free, so that nothing need be cleared.
type table struct {
	places     []place
	size       int  // places in use: a power of two
	shift      uint // of a hash, to a place
	generation uint32
	n          int
	dropped    []uint64 // keys
	lost       int
	free       uint64 // the place of the key of one word that was looked for in vain last
}

type place struct {
	tag        uint64 // the key, if it is one word, else its hash
	generation uint32
	cut        uint32 // or a dropped one, with isDropped
}

const isDropped = 1 << 31

// reset empties the table and makes it large enough for about n keys.
func (t *table) reset(n int) {
	size := 64
	for size < 2*n {
		size *= 2
	}
	t.resize(size)
	t.lost, t.dropped = 0, t.dropped[:0]
}

func (t *table) resize(size int) {
	t.generation++
	if size > len(t.places) || t.generation == 0 {
		t.places, t.generation = make([]place, max(size, len(t.places))), 1
	}
	t.size, t.shift, t.n = size, uint(64-bits.TrailingZeros(uint(size))), 0
}

// tagOf is what a key is known by: different keys of one word have different tags.
func tagOf(key []uint64) uint64 {
	tag := key[0]
	for _, k := range key[1:] {
		tag = bits.RotateLeft64(tag*multiplier, 23) ^ k
	}
	return tag
}

// multiplier spreads all lanes over the upper bits, which choose the place.
const multiplier = 0x9e3779b97f4a7c15

// What find gives for a cut that was dropped, and for one that is not there.
const (
	dropped = -1
	absent  = -2
)

// find returns the number of a cut, dropped or absent.
func (t *table) find(v *level, key []uint64) int {
	tag, mask := tagOf(key), uint64(t.size-1)
	for at := tag * multiplier >> t.shift; ; at = (at + 1) & mask {
		p := &t.places[at]
		if p.generation != t.generation {
			return absent
		}
		if p.tag != tag || len(key) > 1 && !slices.Equal(t.key(v, p.cut, len(key)), key) {
			continue
		}
		if p.cut&isDropped != 0 {
			return dropped
		}
		return int(p.cut)
	}
}

// key is the key of a cut, or of a dropped one.
func (t *table) key(v *level, cut uint32, words int) []uint64 {
	if cut&isDropped != 0 {
		i := int(cut &^ isDropped)
		return t.dropped[i*words : (i+1)*words]
	}
	return v.key(int(cut), words)
}

// put enters the last cut of v, which was looked for in vain just now.
func (t *table) put(v *level, words int) {
	if words == 1 {
		t.enterWord(v, v.keys[v.n-1], uint32(v.n-1))
		return
	}
	t.enter(v, tagOf(v.key(v.n-1, words)), uint32(v.n-1), words)
}

// drop enters a cut that there is no room for, which was looked for in vain just now.
func (t *table) drop(v *level, key []uint64) {
	t.dropped = append(t.dropped, key...)
	t.lost++
	v.dropped++
	if len(key) == 1 {
		t.enterWord(v, key[0], uint32(t.lost-1)|isDropped)
		return
	}
	t.enter(v, tagOf(key), uint32(t.lost-1)|isDropped, len(key))
}

// enter enters a key that is not in the table.
func (t *table) enter(v *level, tag uint64, cut uint32, words int) {
	if 2*t.n >= t.size {
		t.enlarge(v, words)
	}
	mask := uint64(t.size - 1)
	at := tag * multiplier >> t.shift
	for t.places[at].generation == t.generation {
		at = (at + 1) & mask
	}
	t.places[at] = place{tag, t.generation, cut}
	t.n++
}

// enlarge doubles the table.
func (t *table) enlarge(v *level, words int) {
	old, generation := slices.Clone(t.places[:t.size]), t.generation
	t.resize(2 * t.size)
	for _, p := range old {
		if p.generation == generation {
			t.enter(v, p.tag, p.cut, words)
		}
	}
}

// rekey enters all anew after the keys have been packed in another way.
func (t *table) rekey(v *level, old, to *packing, scratch []uint32) []uint32 {
	dropped := level{n: t.lost, keys: t.dropped}
	scratch = dropped.repack(old, to, scratch)
	t.dropped = dropped.keys
	t.resize(t.size)
	for i := range v.n {
		t.enter(v, tagOf(v.key(i, to.words)), uint32(i), to.words)
	}
	for i := range t.lost {
		t.enter(v, tagOf(t.dropped[i*to.words:(i+1)*to.words]), uint32(i)|isDropped, to.words)
	}
	return scratch
}
