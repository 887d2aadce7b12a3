package lattice

// edges is the enabled events of the cuts of a level, by event and, of an event, by
// cut: heads has a list for each event of the queue, those of a slot side by side.
type edges struct {
	heads []uint32 // the first of the list, plus 1
	first []uint32 // by slot: the head of its oldest event
	next  []uint32 // by slot: how many of its events have been passed
	list  []edge
	skip  edge // the edge of the observed run, which was taken first
}

type edge struct {
	next uint32 // plus 1
	cut  uint32
	slot uint32
	lane uint32 // of the slot in the cut
}

// advance builds levels while they are complete.
func (l *Lattice) advance(final bool) {
	for l.level < l.total {
		if !l.building {
			l.build()
		}
		full := l.o.Width > 0 && l.next.n >= l.o.Width
		waited := l.o.Queue > 0 && l.queued >= l.o.Queue
		if l.next.n == 0 || !full && !waited && !final {
			return
		}
		l.follow()
		l.pass()
	}
}

// build tries all of the queue on all cuts of the current level.
func (l *Lattice) build() {
	l.building = true
	l.letters = l.letters[:0]
	l.table.reset(2 * l.current.n)
	l.edges.skip = edge{slot: uint32(len(l.chains))}
	if l.o.Rule == Centred {
		l.centre()
	}
	if l.o.Width == 0 {
		l.eachEdge(func(i int, slot, lane uint32) { l.edge(i, slot, lane) })
		return
	}
	l.collect()
	for range l.queued {
		for at := l.earliest(); at != 0; {
			e := &l.edges.list[at-1]
			l.edge(int(e.cut), e.slot, e.lane)
			at = e.next
		}
	}
}

// eachEdge calls f for the edges of the current level, but for the one that was taken first.
func (l *Lattice) eachEdge(f func(i int, slot, lane uint32)) {
	if l.locks {
		l.eachLocked(f)
		return
	}
	if l.words == 1 {
		l.eachWord(f)
		return
	}
	skip := &l.edges.skip
	for i := l.current.n - 1; i >= 0; i-- {
		key := l.current.key(i, l.words)
		for s := range uint32(len(l.chains)) {
			lane := l.lane(key, s)
			if l.enabled(key, s, lane) && (s != skip.slot || uint32(i) != skip.cut) {
				f(i, s, lane)
			}
		}
	}
}

// collect finds the edges and lists them by event. It takes the last cut first, since
// it puts each at the head of its list.
func (l *Lattice) collect() {
	d := &l.edges
	d.heads, d.first, d.next, d.list = d.heads[:0], d.first[:0], d.next[:0], d.list[:0]
	for s := range l.chains {
		d.first, d.next = append(d.first, uint32(len(d.heads))), append(d.next, 0)
		for range l.chains[s].last() - l.floor[s] {
			d.heads = append(d.heads, 0)
		}
	}
	l.eachEdge(func(i int, slot, lane uint32) {
		head := &d.heads[d.first[slot]+l.base[slot]+lane-l.floor[slot]]
		d.list = append(d.list, edge{*head, uint32(i), slot, lane})
		*head = uint32(len(d.list))
	})
}

// earliest is the list of the next event of the queue, in the order of the trace.
func (l *Lattice) earliest() uint32 {
	d := &l.edges
	slot, order := -1, l.total
	for s := range l.chains {
		c := &l.chains[s]
		if index := l.floor[s] + d.next[s] + 1; index <= c.last() && c.at(index).order < order {
			slot, order = s, c.at(index).order
		}
	}
	if slot < 0 {
		return 0
	}
	at := d.first[slot] + d.next[slot]
	d.next[slot]++
	return d.heads[at]
}

// enabled tells whether the event after a cut in a slot may come next.
func (l *Lattice) enabled(key []uint64, slot, lane uint32) bool {
	c := &l.chains[slot]
	at := int(lane) * l.words
	if at >= len(c.need) || !l.covers(key, c.need[at:at+l.words]) {
		return false
	}
	if l.locks {
		e := c.at(l.base[slot] + lane + 1)
		return e.Locking == NoLock || e.Locking == Releases || !l.kept(key, e)
	}
	return true
}

// try tries a new event on the cuts of the current level.
func (l *Lattice) try(slot, index uint32) {
	lane := index - 1 - l.base[slot]
	for i := range l.current.n {
		key := l.current.key(i, l.words)
		if l.lane(key, slot) == lane && l.enabled(key, slot, lane) {
			l.edge(i, slot, lane)
		}
	}
}

// centre puts the cut of the observed run into the next level.
func (l *Lattice) centre() {
	i := l.current.observed
	if i < 0 || l.level-l.passed >= len(l.arrived) {
		return
	}
	s := l.arrived[l.level-l.passed]
	l.edges.skip = edge{cut: uint32(i), slot: s}
	l.edge(i, s, l.lane(l.current.key(i, l.words), s))
}

// edge takes the step from a cut of the current level by the event after it in a slot.
func (l *Lattice) edge(i int, slot, lane uint32) {
	if l.words == 1 {
		l.edgeWord(i, slot, lane)
		return
	}
	key := append(l.keyed[:0], l.current.key(i, l.words)...)
	l.keyed = key
	key[l.word(slot)] += l.unit[slot]
	j, found := l.table.find(l.next, key)
	e := l.chains[slot].at(l.base[slot] + lane + 1)
	if !found {
		if l.o.Width > 0 && l.next.n >= l.o.Width {
			l.table.drop(l.next, key)
			return
		}
		j = l.add(i, key, e)
	}
	if j < 0 {
		return // dropped before
	}
	l.stats.Edges++
	l.step(i, j, e, !found)
}

// add makes the cut.
func (l *Lattice) add(i int, key []uint64, e *entry) int {
	v, m, j := l.next, len(l.o.Initial), l.next.n
	v.keys = append(v.keys, key...)
	v.values = append(v.values, l.current.values[i*m:(i+1)*m]...)
	if e.Variable >= 0 {
		v.values[j*m+e.Variable] = e.Value
	}
	for range l.props {
		v.sets = append(v.sets, 0)
		l.letters = append(l.letters, letter{})
	}
	v.n++
	l.table.put(v, l.words)
	return j
}

// step moves the monitors along an edge and unites what they come to with what is there.
func (l *Lattice) step(i, j int, e *entry, made bool) {
	n := len(l.props)
	for p, a := range l.props {
		to := l.current.sets[i*n+p]
		fresh := false
		if e.steps>>p&1 != 0 {
			letter := l.letterOf(j, p, a, e)
			if known := a.steps[int(to)*a.stride+int(letter)]; known-1 < turnsBad-1 {
				to = known - 1
			} else {
				to, fresh = a.step(to, letter)
			}
		}
		at := &l.next.sets[j*n+p]
		if !made && *at != to {
			to = a.union(*at, to)
		}
		*at = to
		if fresh {
			l.violate(Violation{Property: p, lattice: l, cut: i, event: e})
		}
	}
}

// letterOf is the letter of an edge to cut j of the next level.
func (l *Lattice) letterOf(j, p int, a *automaton, e *entry) uint32 {
	at := &l.letters[j*len(l.props)+p]
	events := e.Events & a.events
	if at.id == 0 || at.events != events {
		m := len(l.o.Initial)
		*at = letter{a.letter(l.next.values[j*m:(j+1)*m], events) + 1, events}
	}
	return at.id - 1
}

// follow moves the observed run on, alone.
func (l *Lattice) follow() {
	if l.level-l.passed >= len(l.arrived) {
		return
	}
	s := l.arrived[l.level-l.passed]
	if l.level-l.passed >= 4096 {
		n := copy(l.arrived, l.arrived[l.level-l.passed:])
		l.arrived, l.passed = l.arrived[:n], l.level
	}
	l.observed[s]++
	l.keyed = l.pack(l.keyed[:0], l.observed)
	j, found := l.table.find(l.next, l.keyed)
	if !found || j < 0 || len(l.current.run) != len(l.props) {
		return
	}
	l.next.observed = j
	e := l.chains[s].at(l.observed[s])
	for p, a := range l.props {
		to, fresh := l.current.run[p], false
		if e.steps>>p&1 != 0 {
			to, fresh = a.step(to, l.letterOf(j, p, a, e))
		}
		l.next.run = append(l.next.run, to)
		if fresh && !a.sets[l.current.run[p]].bad {
			l.violate(Violation{Property: p, Observed: true, lattice: l, event: e})
		}
	}
}
