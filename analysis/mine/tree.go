package mine

import (
	"fmt"
	"math"
)

// Symbol is the number of a call's name. Symbols of equal probability are compared in the order
// of their numbers.
type Symbol uint32

// Alphabet numbers the names of calls from 0, in the order in which they are first asked for. The zero value is an
// empty one.
type Alphabet struct {
	names   []string
	symbols map[string]Symbol
}

// Symbol returns the number of a name, which is a new one for a new name.
func (a *Alphabet) Symbol(name string) Symbol {
	s, ok := a.symbols[name]
	if !ok {
		if a.symbols == nil {
			a.symbols = map[string]Symbol{}
		}
		s = Symbol(len(a.names))
		a.names = append(a.names, name)
		a.symbols[name] = s
	}
	return s
}

// Name returns the name of a symbol, or its number if it has none.
func (a *Alphabet) Name(s Symbol) string {
	if int(s) < len(a.names) {
		return a.names[s]
	}
	return fmt.Sprintf("symbol %d", s)
}

// Tree is the prefix tree of sequences of calls, with frequencies. A state stands for the sequences
// that begin alike; state 0 is the root. It takes some 60 bytes for each state: at most one
// for each call.
type Tree struct {
	parent []int32  // by state; the root has itself
	symbol []Symbol // by state: of the arc that leads to it; the root's means nothing
	count  []int64  // by state: how many sequences took that arc
	ends   []int64  // by state: how many sequences end in it
	child  map[childKey]int32
	limit  int // number of states
}

type childKey struct {
	parent int32
	symbol Symbol
}

// maxTreeStates bounds a tree, to some GB of memory with what merging takes.
const maxTreeStates = 1 << 24

// NewTree returns the tree of no sequences.
func NewTree() *Tree {
	return &Tree{
		parent: []int32{0}, symbol: []Symbol{math.MaxUint32}, count: []int64{0}, ends: []int64{0},
		child: map[childKey]int32{}, limit: maxTreeStates,
	}
}

// Add adds the sequence of calls on one object, which may be empty. It keeps no reference to it.
// The error says that the tree is full, of which the sequence then is no part.
func (t *Tree) Add(sequence []Symbol) error {
	at, known := int32(0), 0
	for ; known < len(sequence); known++ {
		next, ok := t.child[childKey{at, sequence[known]}]
		if !ok {
			break
		}
		at = next
	}
	if len(t.ends)+len(sequence)-known > t.limit {
		return fmt.Errorf("add a sequence of calls to a prefix tree, which would have more than %d states: "+
			"take sequences of fewer objects", t.limit)
	}
	for _, s := range sequence[known:] {
		next := int32(len(t.ends))
		t.child[childKey{at, s}] = next
		t.parent, t.symbol = append(t.parent, at), append(t.symbol, s)
		t.count, t.ends = append(t.count, 0), append(t.ends, 0)
		at = next
	}
	t.ends[at]++
	for ; at != 0; at = t.parent[at] {
		t.count[at]++
	}
	t.count[0]++
	return nil
}

// States returns the number of states, the root included.
func (t *Tree) States() int { return len(t.ends) }

// Sequences returns the number of sequences that were added.
func (t *Tree) Sequences() int64 { return t.count[0] }

// Automaton returns the tree itself, which accepts the sequences that were added and no others.
func (t *Tree) Automaton() *Automaton { return treeGraph(t).automaton() }
