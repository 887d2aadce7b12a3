package mine

import (
	"cmp"
	"slices"
)

// partition is a partition of the numbers 0 to n-1 that splits its sets by marked elements, as in
// Valmari, "Fast brief practical DFA minimization" (2012).
type partition struct {
	elements []int32 // set by set; the marked ones of a set come first
	place    []int32 // by element: where it is in elements
	set      []int32 // by element
	begin    []int32 // by set, in elements
	end      []int32
	marked   []int32 // by set: how many elements are
	touched  []int32 // the sets with marked elements
}

func newPartition(n int) *partition {
	p := &partition{elements: make([]int32, n), place: make([]int32, n), set: make([]int32, n)}
	for i := range n {
		p.elements[i], p.place[i] = int32(i), int32(i)
	}
	if n > 0 {
		p.addSet(0, int32(n))
	}
	return p
}

// addSet makes a set of a part of elements.
func (p *partition) addSet(begin, end int32) {
	n := int32(len(p.begin))
	p.begin, p.end, p.marked = append(p.begin, begin), append(p.end, end), append(p.marked, 0)
	for _, e := range p.elements[begin:end] {
		p.set[e] = n
	}
}

func (p *partition) of(set int) []int32 { return p.elements[p.begin[set]:p.end[set]] }

// mark marks an element that is not marked.
func (p *partition) mark(e int32) {
	s, i := p.set[e], p.place[e]
	j := p.begin[s] + p.marked[s]
	p.elements[i], p.elements[j] = p.elements[j], e
	p.place[p.elements[i]], p.place[e] = i, j
	if p.marked[s] == 0 {
		p.touched = append(p.touched, s)
	}
	p.marked[s]++
}

// split parts the marked elements of each set from its others, and unmarks all. The smaller part
// becomes the new set.
func (p *partition) split() {
	for _, s := range p.touched {
		begin, middle, end := p.begin[s], p.begin[s]+p.marked[s], p.end[s]
		p.marked[s] = 0
		switch {
		case middle == end:
		case middle-begin <= end-middle:
			p.begin[s] = middle
			p.addSet(begin, middle)
		default:
			p.end[s] = middle
			p.addSet(middle, end)
		}
	}
	p.touched = p.touched[:0]
}

// transition is an edge of an automaton.
type transition struct {
	symbol   Symbol
	from, to int32
}

func (a *Automaton) transitions() []transition {
	var all []transition
	for s := range a.States {
		for _, e := range a.States[s].Edges {
			all = append(all, transition{e.Symbol, int32(s), int32(e.To)})
		}
	}
	return all
}

// minimise returns the smallest automaton of the same sequences as this one, which is deterministic
// and whose states can all be reached and lead to a final one. It takes time in O(m log m) for m
// edges.
func (a *Automaton) minimise() *Automaton {
	transitions := a.transitions()
	blocks := newPartition(len(a.States))
	for s := range a.States {
		if a.States[s].Final {
			blocks.mark(int32(s))
		}
	}
	blocks.split()
	cords := bySymbol(transitions)
	begin, incoming := byTarget(transitions, len(a.States))
	for b, c := 1, 0; c < len(cords.begin); c++ {
		for _, t := range cords.of(c) {
			blocks.mark(transitions[t].from)
		}
		blocks.split()
		for ; b < len(blocks.begin); b++ {
			for _, s := range blocks.of(b) {
				for _, t := range incoming[begin[s]:begin[s+1]] {
					cords.mark(t)
				}
			}
			cords.split()
		}
	}
	return a.quotient(blocks)
}

// bySymbol returns the partition of the transitions by their symbols.
func bySymbol(transitions []transition) *partition {
	p := newPartition(len(transitions))
	slices.SortFunc(p.elements, func(x, y int32) int {
		if c := cmp.Compare(transitions[x].symbol, transitions[y].symbol); c != 0 {
			return c
		}
		return cmp.Compare(x, y)
	})
	p.begin, p.end, p.marked = nil, nil, nil
	from := 0
	for i, t := range p.elements {
		p.place[t] = int32(i)
		if i+1 == len(p.elements) || transitions[p.elements[i+1]].symbol != transitions[t].symbol {
			p.addSet(int32(from), int32(i+1))
			from = i + 1
		}
	}
	return p
}

// byTarget returns the transitions into each state s: incoming[begin[s]:begin[s+1]].
func byTarget(transitions []transition, states int) (begin, incoming []int32) {
	begin = make([]int32, states+1)
	for _, t := range transitions {
		begin[t.to+1]++
	}
	next := make([]int32, states)
	for s := range states {
		begin[s+1] += begin[s]
		next[s] = begin[s]
	}
	incoming = make([]int32, len(transitions))
	for i, t := range transitions {
		incoming[next[t.to]] = int32(i)
		next[t.to]++
	}
	return begin, incoming
}

// quotient returns the automaton whose states are the blocks, in breadth-first order.
func (a *Automaton) quotient(blocks *partition) *Automaton {
	number := make([]int, len(blocks.begin)) // by block; -1 if not reached
	for i := range number {
		number[i] = -1
	}
	order := []int32{blocks.set[0]}
	number[order[0]] = 0
	m := &Automaton{}
	for i := 0; i < len(order); i++ {
		s := a.States[blocks.of(int(order[i]))[0]]
		state := State{Final: s.Final}
		for _, e := range s.Edges {
			b := blocks.set[e.To]
			if number[b] < 0 {
				number[b] = len(order)
				order = append(order, b)
			}
			state.Edges = append(state.Edges, Edge{Symbol: e.Symbol, To: number[b]})
		}
		m.States = append(m.States, state)
	}
	return m
}
