package mine

import "slices"

// Automaton is a finite automaton of sequences of calls. State 0 is the initial one. A state with
// two edges of one symbol makes it nondeterministic. What has no edge is no part of the protocol.
type Automaton struct {
	States []State
}

// State is a state of an automaton.
type State struct {
	Edges []Edge // by symbol and then by target
	Final bool   // whether sequences may end in it
	Ends  int64  // how many training sequences ended in it; 0 after Minimal until Count
}

// Edge is taken by a call. To is an index in States.
type Edge struct {
	Symbol Symbol
	To     int
	Count  int64 // how often training sequences took it; 0 after Minimal until Count
}

// on returns the edges of a symbol.
func (s *State) on(symbol Symbol) []Edge {
	from, _ := slices.BinarySearchFunc(s.Edges, symbol, func(e Edge, symbol Symbol) int {
		if e.Symbol < symbol {
			return -1
		}
		return 1
	})
	to := from
	for to < len(s.Edges) && s.Edges[to].Symbol == symbol {
		to++
	}
	return s.Edges[from:to]
}

// Accepts reports whether the sequence may be all calls on an object.
func (a *Automaton) Accepts(sequence []Symbol) bool {
	at := []int{0}
	seen := make([]int, len(a.States)) // by state: 1 + the index of the last symbol that led to it
	for i, symbol := range sequence {
		var next []int
		for _, s := range at {
			for _, e := range a.States[s].on(symbol) {
				if seen[e.To] != i+1 {
					seen[e.To] = i + 1
					next = append(next, e.To)
				}
			}
		}
		at = next
	}
	return slices.ContainsFunc(at, func(s int) bool { return a.States[s].Final })
}

// Deterministic reports whether no state has two edges of one symbol.
func (a *Automaton) Deterministic() bool {
	for _, s := range a.States {
		for i := 1; i < len(s.Edges); i++ {
			if s.Edges[i].Symbol == s.Edges[i-1].Symbol {
				return false
			}
		}
	}
	return true
}

// Count sets how often the sequences of a tree take the edges of a deterministic automaton, and end in its
// states. Sequences count as far as the automaton has edges. It returns how many of them it does not
// accept: none, if it was learned from the tree.
func (a *Automaton) Count(t *Tree) (rejected int64) {
	for i := range a.States {
		a.States[i].Ends = 0
		for j := range a.States[i].Edges {
			a.States[i].Edges[j].Count = 0
		}
	}
	at := make([]int, len(t.ends)) // by state of the tree: that of the automaton, or -1
	for s := range at {
		if s > 0 {
			at[s] = -1
			if p := at[t.parent[s]]; p >= 0 {
				if on := a.States[p].on(t.symbol[s]); len(on) > 0 {
					on[0].Count += t.count[s]
					at[s] = on[0].To
				}
			}
		}
		if at[s] < 0 || !a.States[at[s]].Final {
			rejected += t.ends[s]
		} else {
			a.States[at[s]].Ends += t.ends[s]
		}
	}
	return rejected
}
