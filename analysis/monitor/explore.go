package monitor

import "github.com/tracepredict/tracepredict/analysis/monitor/decision"

// Options configure how monitors are made. The zero value is useful.
type Options struct {
	// Limit is the number of states that a monitor, and each automaton from which it is made,
	// may have, 1,048,576 at most; 0 is DefaultLimit.
	Limit int
	// Partial accepts a formula that is not a safety property. Its monitor reports the bad
	// prefixes that the formula has.
	Partial bool
}

func (o Options) limit() int {
	if o.Limit <= 0 {
		return DefaultLimit
	}
	return min(o.Limit, 1<<20)
}

// perState is what room allows for each state that an automaton may have.
const perState = 32

// room returns the bound, for an automaton of up to limit states, on its arcs, on the nodes of
// its decision diagrams, and on the sizes of the sets that its states are made of.
func room(limit int) int { return perState*limit + 1<<16 }

// exploration numbers the states of an automaton in the order in which they are found. A key
// is what the automaton's construction calls a state.
type exploration struct {
	keys  []uint32 // by state
	index map[uint32]State
	roots []decision.Node // by state: its edges, a diagram whose leaves are keys
}

// explore finds the states that can be reached from a key. The function edges returns the
// diagram of a state's edges. explore stops and returns false beyond limit states, or when full
// returns true.
func explore(t *decision.Table, from uint32, edges func(key uint32) decision.Node, full func() bool, limit int) (*exploration, bool) {
	arcs := 0
	e := &exploration{keys: []uint32{from}, index: map[uint32]State{from: 0}}
	for i := 0; i < len(e.keys); i++ {
		root := edges(e.keys[i])
		if full() {
			return e, false
		}
		e.roots = append(e.roots, root)
		t.Leaves(root, func(key uint32) bool {
			arcs++
			if _, ok := e.index[key]; !ok {
				e.index[key] = State(len(e.keys))
				e.keys = append(e.keys, key)
			}
			return true
		})
		if len(e.keys) > limit || arcs > room(limit) {
			return e, false
		}
	}
	return e, true
}

// draft returns the automaton that was explored. A state is bad if the function bad reports
// that of its key.
func (e *exploration) draft(t *decision.Table, bad func(key uint32) bool) *draft {
	d := &draft{table: decision.New(2*t.Len() + len(e.keys) + 1), bad: make([]bool, len(e.keys))}
	copied := map[decision.Node]decision.Node{}
	var copyNode func(n decision.Node) decision.Node
	copyNode = func(n decision.Node) decision.Node {
		if c, ok := copied[n]; ok {
			return c
		}
		var c decision.Node
		if p, low, high, ok := t.Branch(n); ok {
			below := copyNode(low)
			c = d.table.Choose(p, below, copyNode(high))
		} else {
			c = d.table.Leaf(e.index[t.Value(n)])
		}
		copied[n] = c
		return c
	}
	for i, key := range e.keys {
		if bad(key) {
			d.bad[i] = true
			d.roots = append(d.roots, d.table.Leaf(uint32(i)))
			continue
		}
		d.roots = append(d.roots, copyNode(e.roots[i]))
	}
	return d
}
