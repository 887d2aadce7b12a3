package lattice

// Where sections may change places, takings and releases are steps, and most of the cuts
// would differ in nothing but how soon a lock was given up. A release that may come next
// enables others and disables none, whatever comes before it, and no monitor reads it: a
// run that has it later has the same word as the one that has it now. So from a cut with
// such a release nothing but that is tried, which leaves out cuts and no word (locks_test.go
// holds it against the enumeration of all runs). The observed run keeps its own path.

// eachLocked is eachEdge where events take locks.
func (l *Lattice) eachLocked(f func(i int, slot, lane uint32)) {
	skip := &l.edges.skip
	for i := l.current.n - 1; i >= 0; i-- {
		key := l.current.key(i, l.words)
		from, to := uint32(0), uint32(len(l.chains))
		if s, ok := l.release(key); ok {
			from, to = s, s+1
		}
		for s := from; s < to; s++ {
			lane := l.lane(key, s)
			if (s != skip.slot || uint32(i) != skip.cut) && l.enabled(key, s, lane) {
				f(i, s, lane)
			}
		}
	}
}

// release gives the slot of the release that may come next after a cut and that no
// property reads; of several the one that the run made first.
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
