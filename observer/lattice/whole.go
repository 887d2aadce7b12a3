package lattice

import (
	"slices"
	"sort"

	"github.com/tracepredict/tracepredict/internal/safely"
)

// Without a window a level is built at once when it is closed. The cuts of each level
// are sorted by key, the last slot first. Adding an event of one slot keeps their order,
// so the next level is the merge of one stream a slot: no table is needed, memory is
// read and written in order, and each core can build a range of keys.

// defaultShare is the number of cuts of a level for which a further core is used.
const defaultShare = 1 << 12

// merger builds the part of a level whose keys are from lo, inclusive, to hi, exclusive; nil is
// no bound.
type merger struct {
	l       *Lattice
	lo, hi  []uint64
	streams []stream
	out     *level // the next level for the first part, else own
	own     level
	views   []view // by property
	// alone reports that no other core is at work: monitors may then compute new results, and
	// violations be reported.
	alone bool
	// pending holds the indices in out of the cuts that could not be finished while other cores
	// were at work, because a monitor lacks a result or a run turns bad. gather finishes them.
	// The merger stops at maxPending.
	pending []int
	missed  bool   // the last cut becomes pending
	hasEdge bool   // a step into the last cut has been taken
	edges   uint64 // number of edges taken
}

// maxPending is the number of pending cuts at which a merger stops.
const maxPending = 64

// stream yields the cuts that follow from the current level by the events of a slot.
type stream struct {
	active
	at  int      // index of a cut of the current level
	key []uint64 // the key of the cut that follows from it; empty at the end
	// word is that key if keys are one word; pastAll at the end.
	word uint64
}

// event returns the slot's next event after a cut with this lane.
func (s *stream) event(lane uint32) *entry {
	return &s.events[(s.base+lane+1)&uint32(len(s.events)-1)]
}

// pastAll is greater than every key, since the top bit of every lane is 0.
const pastAll = ^uint64(0)

// buildUnbounded builds the next level, without a window.
func (l *Lattice) buildUnbounded() {
	l.activate()
	l.restrict()
	n := l.current.n
	l.next.grow(n+n/2, l)
	workers := max(1, min(l.cores, n/l.share))
	for len(l.mergers) < workers {
		l.mergers = append(l.mergers, l.newMerger())
	}
	var all safely.Group
	for c := range workers {
		m := l.mergers[c]
		m.begin(c, workers)
		if c > 0 {
			all.Go(m.merge)
		}
	}
	l.mergers[0].merge()
	all.Wait()
	for _, m := range l.mergers[:workers] {
		l.gather(m)
	}
}

// newMerger returns a merger with a view of each automaton.
func (l *Lattice) newMerger() *merger {
	m := &merger{l: l}
	for _, a := range l.props {
		w := view{a: a, letterCache: letterCache{variables: a.letterCache.variables}}
		if !a.masked() {
			w.unions = make([]union, unionSize)
		}
		m.views = append(m.views, w)
	}
	return m
}

// grow makes room for n cuts.
func (v *level) grow(n int, l *Lattice) {
	v.keys = slices.Grow(v.keys, n*l.words)
	v.values = slices.Grow(v.values, n*len(l.o.Initial))
	v.sets = slices.Grow(v.sets, n*len(l.props))
}

// begin prepares the merger to build one of several parts of the next level; part counts from 0.
func (m *merger) begin(part, parts int) {
	l := m.l
	v := l.current
	m.lo, m.hi = nil, nil
	if part > 0 {
		m.lo = v.key(v.n*part/parts, l.words)
		m.out = &m.own
		m.out.clear()
		m.out.grow(2*v.n/parts, l)
	} else {
		m.out = l.next
	}
	if part < parts-1 {
		m.hi = v.key(v.n*(part+1)/parts, l.words)
	}
	m.pending, m.edges, m.alone = m.pending[:0], 0, parts == 1
	m.streams = slices.Grow(m.streams[:0], len(l.edges.active))[:len(l.edges.active)]
	for k := range m.streams {
		s := &m.streams[k]
		s.active, s.at = l.edges.active[k], -1
		if m.lo != nil {
			s.at += sort.Search(v.n, func(i int) bool { return compare(l.after(s.key[:0], i, s.slot), m.lo) >= 0 })
		}
		m.advance(s)
	}
}

// after appends the key of the cut that follows from a cut of the current level by an event
// of a slot.
func (l *Lattice) after(into []uint64, i int, slot uint32) []uint64 {
	into = append(into, l.current.key(i, l.words)...)
	into[l.word(slot)] += l.unit[slot]
	return into
}

// compare compares keys, the last slot first.
func compare(a, b []uint64) int {
	for i := len(a) - 1; i >= 0; i-- {
		switch {
		case a[i] < b[i]:
			return -1
		case a[i] > b[i]:
			return 1
		}
	}
	return 0
}

// merge builds the part, up to maxPending pending cuts.
func (m *merger) merge() {
	if m.l.words == 1 && !m.l.locks {
		m.mergeWords()
		return
	}
	var least []uint64
	for len(m.pending) < maxPending {
		least = least[:0]
		for k := range m.streams {
			if key := m.streams[k].key; len(key) > 0 && (len(least) == 0 || compare(key, least) < 0) {
				least = append(least[:0], key...)
			}
		}
		if len(least) == 0 || m.hi != nil && compare(least, m.hi) >= 0 {
			return
		}
		m.open(least)
		for k := range m.streams {
			if s := &m.streams[k]; slices.Equal(s.key, least) {
				m.edge(s, s.event(m.l.lane(m.l.current.key(s.at, m.l.words), s.slot)))
				m.advance(s)
			}
		}
		m.close()
	}
}

// advance moves a stream to its next cut.
func (m *merger) advance(s *stream) {
	l := m.l
	if l.words == 1 && !l.locks {
		m.advanceWord(s)
		return
	}
	for s.at++; s.at < l.current.n; s.at++ {
		key := l.current.key(s.at, l.words)
		if (l.tried(s.at, s.slot) || l.observes(s.at, s.slot)) && l.enabled(key, s.slot, l.lane(key, s.slot)) {
			s.key = l.after(s.key[:0], s.at, s.slot)
			return
		}
	}
	s.key = s.key[:0]
}

// open begins the cut with a key, which is the last cut until close.
func (m *merger) open(key []uint64) {
	m.out.keys = append(m.out.keys, key...)
	m.hasEdge = false
	m.missed = false
}

// edge takes the step into the last cut from the one at which a stream is, by event e.
func (m *merger) edge(s *stream, e *entry) {
	v, n := m.out, len(m.views)
	from := m.l.current.sets[s.at*n : s.at*n+n]
	hasEdge := m.hasEdge
	if !hasEdge {
		m.add(s, e)
	}
	m.edges++
	into := v.sets[v.n*n : v.n*n+n]
	for p := range m.views {
		w := &m.views[p]
		to := from[p]
		if w.a.masked() {
			if e.steps>>p&1 == 0 {
				into[p] |= to
				continue
			}
			if w.last.letter == 0 || w.last.events != e.Events&w.a.events {
				m.switchLetter(p, e)
			}
			w.last.set |= to
			if to&w.last.turning != 0 {
				m.turn(p, s, e)
			}
			continue
		}
		if e.steps>>p&1 != 0 {
			id := w.last.letter
			if id == 0 || w.last.events != e.Events&w.a.events {
				id = m.readLetter(p, e.Events&w.a.events)
			}
			var known uint32
			if id != 0 {
				known = w.a.steps[int(to)*w.a.stride+int(id-1)]
			}
			// The comparison is false for 0 (not computed) and with the flag turnsBad.
			if known-1 < turnsBad-1 {
				to = known - 1
			} else {
				to = m.step(p, to, s, e)
			}
		}
		if hasEdge && into[p] != to {
			to = m.union(p, into[p], to)
		}
		into[p] = to
	}
}

// add sets the values of the last cut from those of the cut at which a stream is, and makes its
// sets empty.
func (m *merger) add(s *stream, e *entry) {
	v, l := m.out, m.l
	values := len(l.o.Initial)
	v.values = append(v.values, l.current.values[s.at*values:(s.at+1)*values]...)
	if e.Variable >= 0 {
		v.values[v.n*values+e.Variable] = e.Value
	}
	for p := range m.views {
		m.views[p].last = pendingSet{}
		v.sets = append(v.sets, 0)
	}
	m.hasEdge = true
}

// step returns the set that follows from a set by the event at which a stream is, where the
// result is not in the table of steps or a run turns bad. While not alone, it makes the cut
// pending instead.
func (m *merger) step(p int, set uint32, s *stream, e *entry) uint32 {
	w := &m.views[p]
	if !m.alone || w.last.letter == 0 {
		m.missed = true
		return set
	}
	to, fresh := w.a.step(set, w.last.letter-1)
	if fresh {
		m.turn(p, s, e)
	}
	return to
}

// readLetter returns the number plus 1 of the letter of an edge to the last cut, or 0 if it has
// none yet.
func (m *merger) readLetter(p int, events uint64) uint32 {
	n, w := len(m.l.o.Initial), &m.views[p]
	values := m.out.values[m.out.n*n : (m.out.n+1)*n]
	var id uint32
	if m.alone {
		id = w.a.letter(values, events) + 1
	} else {
		id = w.letter(values, events)
	}
	w.last = pendingSet{letter: id, events: events}
	return id
}

// union returns the union of two interned sets. If that is not interned and the merger not
// alone, it makes the cut pending.
func (m *merger) union(p int, s, t uint32) uint32 {
	if m.alone {
		return m.views[p].a.union(s, t)
	}
	u := m.views[p].union(s, t)
	if u == 0 {
		m.missed = true
		return s
	}
	return u - 1
}

// switchLetter flushes the pending set of a property at the last cut and begins one with the letter
// of e.
func (m *merger) switchLetter(p int, e *entry) {
	w := &m.views[p]
	if w.last.set != 0 {
		m.out.sets[m.out.n*len(m.views)+p] |= w.a.flush(&w.last)
	}
	if id := m.readLetter(p, e.Events&w.a.events); id != 0 {
		w.last.turning = w.a.turning[id-1]
	} else {
		m.missed = true
	}
}

// turn reports the violation by a run that turns bad. While not alone, it makes the cut pending
// instead, and the violation is reported when the cut is finished.
func (m *merger) turn(p int, s *stream, e *entry) {
	if !m.alone {
		m.missed = true
		return
	}
	m.l.violate(Violation{Property: p, lattice: m.l, cut: s.at, event: e})
}

// close ends the last cut.
func (m *merger) close() {
	for p := range m.views {
		if w := &m.views[p]; w.last.set != 0 {
			m.out.sets[m.out.n*len(m.views)+p] |= w.a.flush(&w.last)
		}
	}
	if m.missed {
		m.pending = append(m.pending, m.out.n)
	}
	m.out.n++
}

// gather appends a part to the next level, finishes the pending cuts and, if the merger stopped
// at maxPending, builds the rest of the part.
func (l *Lattice) gather(m *merger) {
	v, first := l.next, 0
	if m.out != v {
		first = v.n
		v.keys, v.values, v.sets = append(v.keys, m.out.keys...), append(v.values, m.out.values...), append(v.sets, m.out.sets...)
		v.n += m.out.n
	}
	for _, j := range m.pending {
		l.redo(first + j)
	}
	if len(m.pending) >= maxPending {
		m.pending, m.out, m.alone = m.pending[:0], v, true
		m.merge()
	}
	l.stats.Edges += m.edges
}

// redo takes the steps into a cut of the next level again, while monitors may compute new
// results and violations may be reported.
func (l *Lattice) redo(j int) {
	hasEdge, n := false, len(l.props)
	l.pendingSets = longer(l.pendingSets, n)
	clear(l.pendingSets)
	clear(l.next.sets[j*n : (j+1)*n])
	for k := range l.edges.active {
		slot := l.edges.active[k].slot
		copy(l.keyBuf, l.next.key(j, l.words))
		if l.lane(l.keyBuf, slot) == 0 {
			continue
		}
		l.keyBuf[l.word(slot)] -= l.unit[slot]
		lane := l.lane(l.keyBuf, slot)
		if i, ok := l.current.search(l.keyBuf); ok && (l.tried(i, slot) || l.observes(i, slot)) && l.enabled(l.keyBuf, slot, lane) {
			l.step(i, j, l.chains[slot].at(l.base[slot]+lane+1), l.pendingSets, !hasEdge)
			hasEdge = true
		}
	}
	for p, a := range l.props {
		l.next.sets[j*n+p] |= a.flush(&l.pendingSets[p])
	}
}

// search returns the index of the cut with a key in a sorted level, and whether there is one.
func (v *level) search(key []uint64) (int, bool) {
	return sort.Find(v.n, func(i int) int { return compare(key, v.key(i, len(key))) })
}
