package mine

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// graph is the automaton between two rounds of merging, in few large slices. State 0 is the
// initial one. The arcs of state u are first[u] to first[u+1], by symbol and then by target.
type graph struct {
	number []int32 // by state: the smallest number that its states had in the tree
	ends   []int64 // by state: how many sequences end in it
	first  []int32 // by state, and one more
	arcs   []arc
}

type arc struct {
	symbol Symbol
	to     int32
	count  int64
}

func (g *graph) of(state int32) []arc { return g.arcs[g.first[state]:g.first[state+1]] }

func treeGraph(t *Tree) *graph {
	n := len(t.ends)
	g := &graph{number: make([]int32, n), ends: slices.Clone(t.ends), first: make([]int32, n+1), arcs: make([]arc, n-1)}
	for s := 1; s < n; s++ {
		g.first[t.parent[s]+1]++
	}
	next := make([]int32, n)
	for s := range n {
		g.number[s] = int32(s)
		g.first[s+1] += g.first[s]
		next[s] = g.first[s]
	}
	for s := 1; s < n; s++ {
		p := t.parent[s]
		g.arcs[next[p]] = arc{t.symbol[s], int32(s), t.count[s]}
		next[p]++
	}
	for s := range n {
		sortArcs(g.of(int32(s)))
	}
	return g
}

func sortArcs(arcs []arc) {
	slices.SortFunc(arcs, func(x, y arc) int {
		if c := cmp.Compare(x.symbol, y.symbol); c != 0 {
			return c
		}
		return cmp.Compare(x.to, y.to)
	})
}

// merge returns the automaton in which each state is merged into a state that is not greater and
// is merged into itself. Arcs that become one add up.
func (g *graph) merge(into []int32) *graph {
	class, m := g.classes(into)
	begin := m.first
	for s := range g.ends {
		m.ends[class[s]] += g.ends[s]
		begin[class[s]+1] += g.first[s+1] - g.first[s]
	}
	next := make([]int32, len(m.ends))
	for c := range next {
		begin[c+1] += begin[c]
		next[c] = begin[c]
	}
	all := make([]arc, len(g.arcs))
	for s := range g.ends {
		c := class[s]
		for _, a := range g.of(int32(s)) {
			all[next[c]] = arc{a.symbol, class[a.to], a.count}
			next[c]++
		}
	}
	m.join(all)
	return m
}

// classes numbers the states that are left, in their order. It returns the number of each state,
// and the automaton of the states that are left, without ends and arcs.
func (g *graph) classes(into []int32) ([]int32, *graph) {
	class := make([]int32, len(into))
	m := &graph{}
	for s, kept := range into {
		if int32(s) == kept {
			class[s] = int32(len(m.number))
			m.number = append(m.number, g.number[s])
		} else {
			class[s] = class[kept]
		}
	}
	m.ends, m.first = make([]int64, len(m.number)), make([]int32, len(m.number)+1)
	return class, m
}

// join takes the arcs of all states, those of state u from first[u] to first[u+1], and joins equal
// ones.
func (g *graph) join(all []arc) {
	from := int32(0)
	for s := range g.ends {
		to := g.first[s+1]
		own := all[from:to]
		sortArcs(own)
		for i, a := range own {
			if last := len(g.arcs) - 1; i > 0 && own[i-1].symbol == a.symbol && own[i-1].to == a.to {
				g.arcs[last].count += a.count
			} else {
				g.arcs = append(g.arcs, a)
			}
		}
		from = to
		g.first[s+1] = int32(len(g.arcs))
	}
	g.arcs = slices.Clip(g.arcs)
}

// tails returns for each state of a tree the smallest one with the same k-tails. A set of tails is
// its number: 0 for the empty one. In a tree a set is given by whether the state is an end, and
// by the sets of shorter tails after each symbol.
func (g *graph) tails(k int) []int32 {
	set := make([]int32, len(g.ends))
	for s, n := range g.ends {
		set[s] = int32(min(n, 1))
	}
	var key []byte
	for range k {
		next := make([]int32, len(set))
		numbers := map[string]int32{}
		for s := range set {
			key = key[:0]
			if g.ends[s] > 0 {
				key = append(key, 1)
			}
			for _, a := range g.of(int32(s)) {
				if set[a.to] != 0 {
					key = binary.LittleEndian.AppendUint32(key, uint32(a.symbol))
					key = binary.LittleEndian.AppendUint32(key, uint32(set[a.to]))
				}
			}
			if len(key) > 0 {
				next[s] = numberOf(numbers, key)
			}
		}
		set = next
	}
	return firstOf(set)
}

// numberOf returns the number of a key, from 1; that of a new one is the next.
func numberOf(numbers map[string]int32, key []byte) int32 {
	n, ok := numbers[string(key)]
	if !ok {
		n = int32(len(numbers) + 1)
		numbers[string(key)] = n
	}
	return n
}

// firstOf returns for each state the first one of the same class.
func firstOf(class []int32) []int32 {
	first := map[int32]int32{}
	into := make([]int32, len(class))
	for s, c := range class {
		f, ok := first[c]
		if !ok {
			f = int32(s)
			first[c] = f
		}
		into[s] = f
	}
	return into
}

func (g *graph) automaton() *Automaton {
	edges := make([]Edge, len(g.arcs))
	for i, a := range g.arcs {
		edges[i] = Edge{Symbol: a.symbol, To: int(a.to), Count: a.count}
	}
	a := &Automaton{States: make([]State, len(g.ends))}
	for s, n := range g.ends {
		a.States[s] = State{Edges: edges[g.first[s]:g.first[s+1]:g.first[s+1]], Final: n > 0, Ends: n}
	}
	return a
}
