package lattice

// Where critical sections may change places, acquires and releases are steps, and most cuts
// would differ only in how soon a lock was released. A release that may come next enables
// events and disables none, whatever comes before it. If no monitor reads it, the monitors read
// the same letters whether the release comes now or later. So from a cut with such a release
// nothing else is tried, except the step of the observed run. This leaves out cuts, but no word
// (a sequence of letters that a monitor reads); locks_test.go compares it with the enumeration
// of all runs.

// restrict sets onlySlot: for each cut of the current level, the only slot that is tried, plus 1;
// 0 is all slots.
func (l *Lattice) restrict() {
	l.onlySlot = l.onlySlot[:0]
	if !l.locks {
		return
	}
	for i := range l.current.n {
		var only uint32
		if s, ok := l.release(l.current.key(i, l.words)); ok {
			only = s + 1
		}
		l.onlySlot = append(l.onlySlot, only)
	}
}

// tried reports whether the next event of a slot is tried from a cut of the current level.
func (l *Lattice) tried(i int, slot uint32) bool {
	return len(l.onlySlot) == 0 || l.onlySlot[i] == 0 || l.onlySlot[i] == slot+1
}

// observes reports whether the next event of a slot after a cut of the current level is the
// step of the observed run.
func (l *Lattice) observes(i int, slot uint32) bool {
	at := l.level - l.arrivedBase
	return i == l.current.observed && at < len(l.arrived) && l.arrived[at] == slot
}

// release returns the slot of a release that may come next after a cut and that no property
// reads; of several the first in the trace. It reports whether there is one.
func (l *Lattice) release(key []uint64) (slot uint32, ok bool) {
	order := l.total
	for s := range uint32(len(l.chains)) {
		c, lane := &l.chains[s], l.lane(key, s)
		index := l.base[s] + lane + 1
		if index > c.last() || c.n == 0 {
			continue
		}
		if e := c.at(index); e.Locking == Releases && e.steps == 0 && e.Variable < 0 && e.order < order && l.enabled(key, s, lane) {
			slot, order, ok = s, e.order, true
		}
	}
	return slot, ok
}
