package lattice

import (
	"math/bits"
	"slices"
)

// table is a hash table, with open addressing, that finds by key the cuts of the next level
// and those that the level had no room for. Entries of an earlier generation are free, so
// that the table need not be cleared.
type table struct {
	entries     []tableEntry
	size        int  // number of entries in use: a power of two
	shift       uint // the number of bits by which a hash is shifted to the index of an entry
	generation  uint32
	n           int      // number of keys in the table
	dropped     []uint64 // keys of the cuts that the level had no room for
	droppedCuts int      // number of these cuts
	free        uint64   // index of the free entry at which findWord last ended its search
}

// tableEntry is an entry of the hash table.
type tableEntry struct {
	tag        uint64 // tagOf of the key
	generation uint32
	cut        uint32 // index in the level or, with isDropped, in table.dropped
}

// isDropped marks the cuts that the level had no room for.
const isDropped = 1 << 31

// reset empties the table and makes it large enough for about n keys.
func (t *table) reset(n int) {
	size := 64
	for size < 2*n {
		size *= 2
	}
	t.resize(size)
	t.droppedCuts, t.dropped = 0, t.dropped[:0]
}

// resize empties the table and gives it a size.
func (t *table) resize(size int) {
	t.generation++
	if size > len(t.entries) || t.generation == 0 {
		t.entries, t.generation = make([]tableEntry, max(size, len(t.entries))), 1
	}
	t.size, t.shift, t.n = size, uint(64-bits.TrailingZeros(uint(size))), 0
}

// tagOf returns the tag of a key: the key itself if it is one word, else a hash.
func tagOf(key []uint64) uint64 {
	tag := key[0]
	for _, k := range key[1:] {
		tag = bits.RotateLeft64(tag*multiplier, 23) ^ k
	}
	return tag
}

// multiplier makes the upper bits of a product, which select the entry, depend on all lanes.
const multiplier = 0x9e3779b97f4a7c15

// The results of find for a cut that the level had no room for, and for one not in the table.
const (
	dropped = -1
	absent  = -2
)

// find returns the index of the cut with a key, or dropped or absent.
func (t *table) find(v *level, key []uint64) int {
	tag, mask := tagOf(key), uint64(t.size-1)
	for at := tag * multiplier >> t.shift; ; at = (at + 1) & mask {
		p := &t.entries[at]
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

// key returns the key of an entry's cut.
func (t *table) key(v *level, cut uint32, words int) []uint64 {
	if cut&isDropped != 0 {
		i := int(cut &^ isDropped)
		return t.dropped[i*words : (i+1)*words]
	}
	return v.key(int(cut), words)
}

// put enters the last cut of v, whose key find or findWord has just reported absent.
func (t *table) put(v *level, words int) {
	if words == 1 {
		t.enterWord(v, v.keys[v.n-1], uint32(v.n-1))
		return
	}
	t.enter(v, tagOf(v.key(v.n-1, words)), uint32(v.n-1), words)
}

// drop enters a cut that the level has no room for, whose key find or findWord has just
// reported absent.
func (t *table) drop(v *level, key []uint64) {
	t.dropped = append(t.dropped, key...)
	t.droppedCuts++
	v.dropped++
	if len(key) == 1 {
		t.enterWord(v, key[0], uint32(t.droppedCuts-1)|isDropped)
		return
	}
	t.enter(v, tagOf(key), uint32(t.droppedCuts-1)|isDropped, len(key))
}

// enter enters a key that is not in the table.
func (t *table) enter(v *level, tag uint64, cut uint32, words int) {
	if 2*t.n >= t.size {
		t.enlarge(v, words)
	}
	mask := uint64(t.size - 1)
	at := tag * multiplier >> t.shift
	for t.entries[at].generation == t.generation {
		at = (at + 1) & mask
	}
	t.entries[at] = tableEntry{tag, t.generation, cut}
	t.n++
}

// enlarge doubles the table.
func (t *table) enlarge(v *level, words int) {
	old, generation := slices.Clone(t.entries[:t.size]), t.generation
	t.resize(2 * t.size)
	for _, p := range old {
		if p.generation == generation {
			t.enter(v, p.tag, p.cut, words)
		}
	}
}

// rekey rebuilds the table after the keys of v have been packed again, from one packing to
// another. It uses scratch and returns it.
func (t *table) rekey(v *level, old, to *packing, scratch []uint32) []uint32 {
	dropped := level{n: t.droppedCuts, keys: t.dropped}
	scratch = dropped.repack(old, to, scratch)
	t.dropped = dropped.keys
	t.resize(t.size)
	for i := range v.n {
		t.enter(v, tagOf(v.key(i, to.words)), uint32(i), to.words)
	}
	for i := range t.droppedCuts {
		t.enter(v, tagOf(t.dropped[i*to.words:(i+1)*to.words]), uint32(i)|isDropped, to.words)
	}
	return scratch
}
