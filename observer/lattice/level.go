package lattice

// level holds the cuts of one level, in arrays.
type level struct {
	n        int      // number of cuts
	number   int      // of a level in the history
	packing           // of keys, of a level in the history
	keys     []uint64 // packing.words for each cut
	values   []uint64 // one for each cut and variable; only of the current and the next level
	sets     []uint32 // one for each cut and property: a mask, or the number of an interned set
	observed int      // index of the observed run's cut, -1 for none
	run      []uint32 // by property: the set of the observed run alone
	floor    []uint32 // by slot: Lattice.floor, of a level in the history
	dropped  uint64   // number of cuts for which there was no room
}

// maxPresized is the largest window for which the arrays of a level get their full size at once.
const maxPresized = 1 << 10

// room returns the number of cuts for which arrays are made, for a level in a window that has
// n cuts.
func (l *Lattice) room(n int) int {
	if w := min(l.o.Width, maxPresized); n < w {
		return w
	}
	return 2 * n
}

// newLevel returns an empty level.
func (l *Lattice) newLevel() *level {
	var v *level
	if n := len(l.spare); n > 0 {
		v, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		v = &level{}
	}
	v.clear()
	return v
}

// clear empties a level, and keeps its memory.
func (v *level) clear() {
	v.n, v.observed, v.dropped = 0, -1, 0
	v.keys, v.values, v.sets, v.run = v.keys[:0], v.values[:0], v.sets[:0], v.run[:0]
}

// trim cuts the arrays to the length that the level's cuts need.
func (v *level) trim(l *Lattice) {
	v.keys, v.values, v.sets = v.keys[:v.n*l.words], v.values[:v.n*len(l.o.Initial)], v.sets[:v.n*len(l.props)]
}

// key returns the key of cut i.
func (v *level) key(i, words int) []uint64 { return v.keys[i*words : (i+1)*words] }

// repack packs the keys again, from one packing to another. It uses scratch and returns it.
func (v *level) repack(old, to *packing, scratch []uint32) []uint32 {
	cuts := scratch[:0]
	for i := range v.n {
		if old.words > 0 {
			cuts = old.unpack(cuts, v.key(i, old.words))
		}
	}
	v.keys = v.keys[:0]
	slots := len(old.base)
	for i := range v.n {
		v.keys = to.pack(v.keys, cuts[i*slots:(i+1)*slots])
	}
	return cuts
}

// closeLevel appends the current level to the history and makes next the current one.
func (l *Lattice) closeLevel() {
	l.flushPending()
	l.next.trim(l)
	old := l.current
	l.packing.cloneTo(&old.packing)
	old.number = l.level
	old.floor = append(old.floor[:0], l.floor...)
	l.history = append(l.history, old)
	l.historyCuts += old.n
	l.trimHistory()
	l.level++
	values := old.values // a witness computes them from the events
	old.values = nil
	l.current, l.next = l.next, l.newLevel()
	l.next.values = values[:0]
	l.widen(l.next, l.room(0))
	l.building = false
	l.computeFloor()
	l.countLevel()
	l.shrink()
	if l.onClosed != nil {
		l.onClosed()
	}
}

// countLevel adds the level just closed to the statistics.
func (l *Lattice) countLevel() {
	l.stats.Levels++
	l.stats.Cuts += uint64(l.current.n)
	l.stats.Widest = max(l.stats.Widest, l.current.n)
	l.stats.Dropped += l.current.dropped
	if l.current.dropped > 0 {
		l.stats.Cut++
	}
}

// trimHistory drops the oldest levels beyond Options.History, and the events that only they
// needed.
func (l *Lattice) trimHistory() {
	before := l.droppedLevels
	for l.historyCuts > l.o.History && l.droppedLevels < len(l.history)-1 {
		l.historyCuts -= l.history[l.droppedLevels].n
		l.spare = append(l.spare, l.history[l.droppedLevels])
		l.history[l.droppedLevels] = nil
		l.droppedLevels++
	}
	if l.droppedLevels == before {
		return
	}
	for s, v := range l.history[l.droppedLevels].floor {
		l.chains[s].discardBelow(v)
	}
	if 2*l.droppedLevels > len(l.history) {
		l.history = append(l.history[:0], l.history[l.droppedLevels:]...)
		l.droppedLevels = 0
	}
}

// computeFloor computes floor, the least count of each slot over the current level. Events up to
// there are useless, since every cut contains them (the paper's Vmin).
func (l *Lattice) computeFloor() {
	low := append(l.keyBuf[:0], l.current.key(0, l.words)...)
	if l.words == 1 {
		low[0] = l.lowest(low[0], l.current.keys)
	} else {
		for i := 1; i < l.current.n; i++ {
			l.least(low, l.current.key(i, l.words))
		}
	}
	l.keyBuf = low
	l.queued = l.total
	for s := range l.floor {
		l.floor[s] = l.base[s] + l.lane(low, uint32(s))
		l.queued -= int(l.floor[s])
	}
}
