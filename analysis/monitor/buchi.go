package monitor

// arc is a transition to a state of a generalised Büchi automaton. It makes promises, a set of
// numbers. A run is accepted when it makes no promise forever.
type arc struct {
	to       uint32
	promises set
}

// accepting is the state from which every run is accepted; the others have the
// numbers from 1, and their arcs come from a function.
const accepting = 0

// buchi finds the states of a generalised Büchi automaton from which some run
// is accepted: those that reach a strongly connected component (Tarjan's
// algorithm) in which a run can stay forever without keeping a promise open, that is, in
// which no promise is made by all arcs.
type buchi struct {
	sets  *sets
	arcs  [][]arc // by state
	live  []bool  // by state: an accepted run begins there
	order []uint32
	low   []uint32
	stack []uint32
	count uint32
}

// findLive computes live.
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

// settled is the value of order for states whose component is known.
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

// component removes from the stack the component whose first state is s.
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

// fulfils reports whether no promise is made by all arcs within a component, and
// there are such arcs.
func (b *buchi) fulfils(states []uint32) bool {
	within := make(map[uint32]bool, len(states))
	for _, s := range states {
		within[s] = true
	}
	open, any := []uint32(nil), false
	for _, s := range states {
		for _, a := range b.arcs[s] {
			if !within[a.to] {
				continue
			}
			if !any {
				open, any = b.sets.elements[a.promises], true
			} else {
				open = intersection(open, b.sets.elements[a.promises])
			}
			if len(open) == 0 {
				return true
			}
		}
	}
	return false
}

// intersection returns what two sorted sets have in common.
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
