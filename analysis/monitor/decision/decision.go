// Package decision implements multi-terminal binary decision diagrams: functions from letters
// to numbers, where bit i of a letter is the value of proposition i. Diagrams share their
// nodes, and equal functions are equal nodes. The time of an operation depends on the size of
// the diagrams, not on the number of letters (Bryant, Graph-Based Algorithms for Boolean
// Function Manipulation; Fujita, McGeer, Yang, Multi-Terminal Binary Decision Diagrams).
package decision

// Node is a function in the table that made it. The nodes below it have smaller numbers.
type Node = uint32

// leaf is the proposition number of leaves, greater than all propositions.
const leaf = 64

// node is a leaf, or the functions low, where the proposition does not hold, and high, where it
// does.
type node struct {
	proposition uint8 // leaf for a leaf
	low, high   Node  // for a leaf low is its number, not a node
}

// Table holds the nodes of diagrams, each once.
type Table struct {
	nodes  []node
	unique map[node]Node
	limit  int
	full   bool

	seen []uint32 // by node: the number of the last call of Leaves that visited it
	call uint32   // the number of calls of Leaves
}

// New returns a table that holds up to limit nodes.
func New(limit int) *Table {
	t := &Table{unique: map[node]Node{}, limit: max(limit, 1)}
	t.Leaf(0)
	return t
}

// Full reports whether the limit was reached. Functions made since then are wrong, and
// the caller must discard them.
func (t *Table) Full() bool { return t.full }

// Len returns the number of nodes.
func (t *Table) Len() int { return len(t.nodes) }

// Leaf returns the function that is value for every letter.
func (t *Table) Leaf(value uint32) Node {
	return t.intern(node{proposition: leaf, low: value})
}

// Choose returns the function that is low where the proposition does not hold, and high where
// it does. Both may depend only on propositions with greater numbers.
func (t *Table) Choose(proposition int, low, high Node) Node {
	if low == high {
		return low
	}
	return t.intern(node{uint8(proposition), low, high})
}

func (t *Table) intern(n node) Node {
	if i, ok := t.unique[n]; ok {
		return i
	}
	if len(t.nodes) >= t.limit {
		t.full = true
		return 0
	}
	i := Node(len(t.nodes))
	t.nodes = append(t.nodes, n)
	t.unique[n] = i
	return i
}

// Cube returns the function that is yes where all propositions of trues and none of falses
// hold, and no elsewhere.
func (t *Table) Cube(trues, falses uint64, yes, no uint32) Node {
	if trues&falses != 0 {
		return t.Leaf(no)
	}
	f, otherwise := t.Leaf(yes), t.Leaf(no)
	for p := leaf - 1; p >= 0; p-- {
		switch {
		case trues>>p&1 == 1:
			f = t.Choose(p, otherwise, f)
		case falses>>p&1 == 1:
			f = t.Choose(p, f, otherwise)
		}
	}
	return f
}

// Branch returns the proposition that a node tests, the function where the proposition does not
// hold, and the function where it does. ok is false for a leaf.
func (t *Table) Branch(f Node) (proposition int, low, high Node, ok bool) {
	n := t.nodes[f]
	return int(n.proposition), n.low, n.high, n.proposition != leaf
}

// Value returns the number of a leaf.
func (t *Table) Value(f Node) uint32 { return t.nodes[f].low }

// Eval returns the function's value for a letter.
func (t *Table) Eval(f Node, letter uint64) uint32 {
	for {
		n := &t.nodes[f]
		switch {
		case n.proposition == leaf:
			return n.low
		case letter>>n.proposition&1 == 1:
			f = n.high
		default:
			f = n.low
		}
	}
}

// Leaves calls visit once with each value that the function has for some letter, until visit
// returns false. The function visit must not call Leaves.
func (t *Table) Leaves(f Node, visit func(value uint32) bool) {
	if short := len(t.nodes) - len(t.seen); short > 0 {
		t.seen = append(t.seen, make([]uint32, short)...)
	}
	t.call++
	t.leaves(f, visit)
}

func (t *Table) leaves(f Node, visit func(value uint32) bool) bool {
	if t.seen[f] == t.call {
		return true
	}
	t.seen[f] = t.call
	n := t.nodes[f]
	if n.proposition == leaf {
		return visit(n.low)
	}
	return t.leaves(n.low, visit) && t.leaves(n.high, visit)
}

// Operation applies a function of two numbers to diagrams, letter by letter. It caches its
// results.
type Operation struct {
	table *Table
	apply func(a, b uint32) uint32
	cache map[[2]Node]Node
}

// maxCached bounds the number of results that an operation caches.
const maxCached = 1 << 20

// Operation returns the operation that applies apply, which must be a pure function, to
// functions of this table.
func (t *Table) Operation(apply func(a, b uint32) uint32) *Operation {
	return &Operation{t, apply, map[[2]Node]Node{}}
}

// Apply returns the function whose value for each letter is the operation on the
// values of f and g.
func (o *Operation) Apply(f, g Node) Node {
	if o.table.full {
		return 0
	}
	key := [2]Node{f, g}
	if r, ok := o.cache[key]; ok {
		return r
	}
	a, b := o.table.nodes[f], o.table.nodes[g]
	var r Node
	if p := min(a.proposition, b.proposition); p == leaf {
		r = o.table.Leaf(o.apply(a.low, b.low))
	} else {
		fLow, fHigh := cofactors(a, f, p)
		gLow, gHigh := cofactors(b, g, p)
		low := o.Apply(fLow, gLow)
		r = o.table.Choose(int(p), low, o.Apply(fHigh, gHigh))
	}
	if len(o.cache) >= maxCached {
		clear(o.cache)
	}
	o.cache[key] = r
	return r
}

// cofactors returns the functions that f, with node n, is where a proposition does not hold,
// and where it does. f depends on no proposition before it.
func cofactors(n node, f Node, proposition uint8) (low, high Node) {
	if n.proposition != proposition {
		return f, f
	}
	return n.low, n.high
}

// Map returns the function whose value for each letter is change of the value of f.
func (t *Table) Map(f Node, change func(uint32) uint32) Node {
	return t.Operation(func(a, _ uint32) uint32 { return change(a) }).Apply(f, t.Leaf(0))
}
