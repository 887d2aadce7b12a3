package monitor

// arc is a transition to a state of a generalised Büchi automaton, without its letters. It
// carries promises, a set of numbers. A run is accepted unless some promise is carried by all
// its arcs from some point on.
type arc struct {
	to       uint32
	promises set
}

// accepting is the number of the state from which every run is accepted. It has no arcs. The
// other states are numbered from 1.
const accepting = 0

// buchi finds the live states of a generalised Büchi automaton, those from which some run is
// accepted. They are accepting, and the states from which it can be reached, or a strongly
// connected component in which a run can stay forever without an open promise: no promise is
// carried by all arcs within the component. The components are found by Tarjan's algorithm.
type buchi struct {
	sets  *sets
	arcs  [][]arc  // by state
	live  []bool   // by state: an accepted run begins there
	order []uint32 // by state: its number in the search; 0: not visited; or settled
	low   []uint32 // by state: Tarjan's low link
	stack []uint32 // states whose component is not known
	count uint32   // of states visited
}

// findLive computes live from arcs.
func (b *buchi) findLive() {
	b.live = make([]bool, len(b.arcs))
	b.order = make([]uint32, len(b.arcs))
	b.low = make([]uint32, len(b.arcs))
	b.live[accepting] = true
	b.order[accepting] = settled
	for s := range b.arcs {
		if b.order[s] == 0 {
			b.visit(uint32(s))
		}
	}
}

// settled is the value of order of states whose component is known.
const settled = 1<<32 - 1

// visit does a depth-first search from s.
func (b *buchi) visit(s uint32) {
	b.count++
	b.order[s], b.low[s] = b.count, b.count
	b.stack = append(b.stack, s)
	for _, a := range b.arcs[s] {
		if b.order[a.to] == 0 {
			b.visit(a.to)
			b.low[s] = min(b.low[s], b.low[a.to])
		} else if b.order[a.to] != settled {
			b.low[s] = min(b.low[s], b.order[a.to])
		}
	}
	if b.low[s] == b.order[s] {
		b.component(s)
	}
}

// component removes from the stack the component whose first state is s, and decides whether
// its states are live.
func (b *buchi) component(s uint32) {
	at := len(b.stack) - 1
	for b.stack[at] != s {
		at--
	}
	states := b.stack[at:]
	b.stack = b.stack[:at]
	live := b.fulfils(states) || b.leadsToLive(states)
	for _, c := range states {
		b.live[c] = live
		b.order[c] = settled
	}
}

// leadsToLive reports whether an arc of a component leads to a live state of another one.
func (b *buchi) leadsToLive(states []uint32) bool {
	for _, s := range states {
		for _, a := range b.arcs[s] {
			if b.live[a.to] {
				return true
			}
		}
	}
	return false
}

// fulfils reports whether there are arcs within a component, and no promise that all of them
// carry.
func (b *buchi) fulfils(states []uint32) bool {
	within := make(map[uint32]bool, len(states))
	for _, s := range states {
		within[s] = true
	}
	common, found := []uint32(nil), false
	for _, s := range states {
		for _, a := range b.arcs[s] {
			if !within[a.to] {
				continue
			}
			if !found {
				common, found = b.sets.elements[a.promises], true
			} else {
				common = intersection(common, b.sets.elements[a.promises])
			}
			if len(common) == 0 {
				return true
			}
		}
	}
	return false
}

// intersection returns the elements that two sorted slices have in common.
func intersection(a, b []uint32) []uint32 {
	var both []uint32
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			both = append(both, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return both
}
