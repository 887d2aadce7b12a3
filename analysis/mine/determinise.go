package mine

import (
	"fmt"
	"math/bits"
	"slices"
)

// effort bounds a subset construction: what it makes, which are subsets, their elements and the
// edges between them, some 50 bytes each; and the edges that it follows, some ten nanoseconds each.
type effort struct {
	made, followed int
}

// effort lets an automaton that is deterministic be as large as it is.
func (a *Automaton) effort() effort {
	edges := 0
	for i := range a.States {
		edges += len(a.States[i].Edges)
	}
	return effort{made: 1<<22 + 2*len(a.States) + edges, followed: 1<<27 + edges}
}

// Minimal returns the smallest deterministic automaton of the same sequences, by subset
// construction and minimisation. States have the numbers of a breadth-first search from the
// initial one, by symbol. It has no counts: Count sets them. The error says that the deterministic
// automaton would be too large. The automaton stays as it is. All its states must have a way to a
// final one, as those learned do.
func (a *Automaton) Minimal() (*Automaton, error) {
	d, err := a.determinise(a.effort())
	if err != nil {
		return nil, err
	}
	return d.minimise(), nil
}

// determiniser makes a subset construction.
type determiniser struct {
	from     *Automaton
	room     effort // what is left
	number   map[string]int32
	elements [][]int32 // by number of the subset, ascending
	key      []byte
	symbols  []Symbol  // of from, ascending
	index    [][]int32 // by state of from and edge: the symbol's index in symbols
	targets  [][]int32 // by index of a symbol: the states that a subset's edges lead to
	bits     []uint64  // by state of from; all 0 between calls
}

func (a *Automaton) determinise(room effort) (*Automaton, error) {
	x := &determiniser{from: a, room: room, number: map[string]int32{}, bits: make([]uint64, len(a.States)/64+1)}
	x.indexSymbols()
	x.subset([]int32{0})
	d := &Automaton{}
	for i := 0; i < len(x.elements); i++ {
		d.States = append(d.States, x.state(x.elements[i]))
		if x.room.made < 0 || x.room.followed < 0 {
			return nil, fmt.Errorf("make a learned automaton of %d states deterministic: its sets of states are too large "+
				"or too many (%d so far): learn one with fewer states, by a smaller k or s, or by another rule",
				len(a.States), len(x.elements))
		}
	}
	return d, nil
}

func (x *determiniser) indexSymbols() {
	for i := range x.from.States {
		for _, e := range x.from.States[i].Edges {
			x.symbols = append(x.symbols, e.Symbol)
		}
	}
	slices.Sort(x.symbols)
	x.symbols = slices.Clone(slices.Compact(x.symbols))
	x.targets = make([][]int32, len(x.symbols))
	x.index = make([][]int32, len(x.from.States))
	for i := range x.from.States {
		for _, e := range x.from.States[i].Edges {
			n, _ := slices.BinarySearch(x.symbols, e.Symbol)
			x.index[i] = append(x.index[i], int32(n))
		}
	}
}

// state returns the state of the deterministic automaton that a subset is.
func (x *determiniser) state(subset []int32) State {
	var s State
	var used []int32
	for _, q := range subset {
		from := &x.from.States[q]
		s.Final = s.Final || from.Final
		x.room.followed -= len(from.Edges)
		for i, n := range x.index[q] {
			if len(x.targets[n]) == 0 {
				used = append(used, n)
			}
			x.targets[n] = append(x.targets[n], int32(from.Edges[i].To))
		}
	}
	slices.Sort(used)
	x.room.made -= len(used)
	for _, n := range used {
		s.Edges = append(s.Edges, Edge{Symbol: x.symbols[n], To: x.subset(x.targets[n])})
		x.targets[n] = x.targets[n][:0]
	}
	return s
}

// subset returns the number of the subset with these elements, which it changes.
func (x *determiniser) subset(elements []int32) int {
	elements = x.distinct(elements)
	x.key = appendIDs(x.key[:0], elements)
	n, ok := x.number[string(x.key)]
	if !ok {
		n = int32(len(x.elements))
		x.number[string(x.key)] = n
		x.elements = append(x.elements, slices.Clone(elements))
		x.room.made -= 1 + len(elements)
	}
	return int(n)
}

// distinct sorts elements and leaves each once: by bits if there are many, which is much faster than
// comparing.
func (x *determiniser) distinct(elements []int32) []int32 {
	if len(elements) < 16+len(x.bits) {
		slices.Sort(elements)
		return slices.Compact(elements)
	}
	for _, e := range elements {
		x.bits[e/64] |= 1 << (e % 64)
	}
	elements = elements[:0]
	for i, w := range x.bits {
		for ; w != 0; w &= w - 1 {
			elements = append(elements, int32(64*i+bits.TrailingZeros64(w)))
		}
		x.bits[i] = 0
	}
	return elements
}
