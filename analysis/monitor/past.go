package monitor

import (
	"github.com/tracepredict/tracepredict/analysis/monitor/decision"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

// The past part of formulas is evaluated from state to state, as in Havelund and Roşu,
// Synthesizing Monitors for Safety Properties. The value of a past operator in a state follows
// from values in that state and from one value in the state before, a bit for each operator.
// These bits are the memory of a state. The memory of the next state is a decision diagram over
// the next letter.

// memory is the number, in past.memories, of the string of bits that are kept of the states
// read so far.
type memory = uint32

// pastNode is a formula without future operators, or a part of one. Equal parts are one node.
type pastNode struct {
	op          ltl.Op
	atom        int
	left, right int // nodes; 0 without operand
}

// past evaluates formulas without future operators.
type past struct {
	table    *decision.Table
	nodes    []pastNode
	unique   map[pastNode]int
	origins  []*ltl.Formula // by node: a formula that it represents
	nodeOf   map[*ltl.Formula]int
	kept     []int       // by bit of memories: the node whose last value it is
	keptFor  []int       // by bit: the first node that needs it
	bitOf    map[int]int // by node: its bit, the inverse of kept
	memories trie
	values   map[memory][]decision.Node // by node, 0 or 1 at the leaves: the results of value
	next     map[memory]decision.Node   // the results of after

	and, or, xor, implies, iff, andNot, push *decision.Operation
}

// nothingRead is the memory before the first letter.
const nothingRead memory = 0

func newPast(t *decision.Table) *past {
	p := &past{
		table:  t,
		unique: map[pastNode]int{}, nodeOf: map[*ltl.Formula]int{}, bitOf: map[int]int{},
		memories: newTrie(),
		values:   map[memory][]decision.Node{}, next: map[memory]decision.Node{},
	}
	p.and = t.Operation(func(a, b uint32) uint32 { return a & b })
	p.or = t.Operation(func(a, b uint32) uint32 { return a | b })
	p.xor = t.Operation(func(a, b uint32) uint32 { return a ^ b })
	p.implies = t.Operation(func(a, b uint32) uint32 { return a ^ 1 | b })
	p.iff = t.Operation(func(a, b uint32) uint32 { return a ^ b ^ 1 })
	p.andNot = t.Operation(func(a, b uint32) uint32 { return a &^ b })
	p.push = t.Operation(p.memories.push)
	return p
}

// node returns the node of a formula without future operators.
func (p *past) node(f *ltl.Formula) int {
	if n, ok := p.nodeOf[f]; ok {
		return n
	}
	key := pastNode{op: f.Op, atom: f.Atom}
	operands := f.Operands()
	if len(operands) > 0 {
		key.left = p.node(operands[0])
	}
	if len(operands) > 1 {
		key.right = p.node(operands[1])
	}
	n, ok := p.unique[key]
	if !ok {
		n = len(p.nodes)
		p.nodes = append(p.nodes, key)
		p.origins = append(p.origins, f)
		p.unique[key] = n
		p.keep(n)
	}
	p.nodeOf[f] = n
	return n
}

// keep records which value of the state before the operator of node n needs: that of its
// operand, or its own.
func (p *past) keep(n int) {
	if !p.nodes[n].op.IsPast() {
		return
	}
	keeper := n
	switch p.nodes[n].op {
	case ltl.Prev, ltl.Yesterday, ltl.WeakPrev, ltl.Start, ltl.End:
		n = p.nodes[n].left
	}
	if _, ok := p.bitOf[n]; !ok {
		p.bitOf[n] = len(p.kept)
		p.kept = append(p.kept, n)
		p.keptFor = append(p.keptFor, keeper)
	}
}

// value returns the value of a node after the next letter, by letter, if m is the memory before
// it.
func (p *past) value(n int, m memory) decision.Node {
	values, ok := p.values[m]
	if !ok {
		before := p.memories.bits(m, len(p.kept))
		for n := range p.nodes {
			values = append(values, p.evaluate(n, before, values))
		}
		p.values[m] = values
	}
	return values[n]
}

// evaluate returns the value of a node, by letter. Values has those of its operands. Before has
// the bits of the state before, and is nil on the first state.
func (p *past) evaluate(n int, before []bool, values []decision.Node) decision.Node {
	f := p.nodes[n]
	l, r := operandValues(f, values)
	switch f.op {
	case ltl.True:
		return p.constant(true)
	case ltl.Atom:
		return p.table.Choose(f.atom, p.constant(false), p.constant(true))
	case ltl.Not:
		return p.andNot.Apply(p.constant(true), l)
	case ltl.And:
		return p.and.Apply(l, r)
	case ltl.Or:
		return p.or.Apply(l, r)
	case ltl.Xor:
		return p.xor.Apply(l, r)
	case ltl.Implies:
		return p.implies.Apply(l, r)
	case ltl.Iff:
		return p.iff.Apply(l, r)
	case ltl.Prev, ltl.Yesterday, ltl.WeakPrev, ltl.Start, ltl.End:
		return p.previous(f, l, before)
	case ltl.Once, ltl.Historically, ltl.Since, ltl.WeakSince, ltl.Interval, ltl.WeakInterval:
		return p.recursive(f.op, l, r, before, func() bool { return before[p.bitOf[n]] })
	default:
		return p.constant(false)
	}
}

func operandValues(f pastNode, values []decision.Node) (l, r decision.Node) {
	if f.op.Arity() > 0 {
		l = values[f.left]
	}
	if f.op.Arity() > 1 {
		r = values[f.right]
	}
	return l, r
}

func (p *past) constant(value bool) decision.Node {
	if value {
		return p.table.Leaf(1)
	}
	return p.table.Leaf(0)
}

// previous evaluates the operators that depend on the value of their operand in the state
// before: prev, Y, Z, start and end. The operand's value in this state is l.
func (p *past) previous(f pastNode, l decision.Node, before []bool) decision.Node {
	was := l // the past is stationary before the first state
	if before != nil {
		was = p.constant(before[p.bitOf[f.left]])
	}
	switch {
	case f.op == ltl.Start:
		return p.andNot.Apply(l, was)
	case f.op == ltl.End:
		return p.andNot.Apply(was, l)
	case before == nil && f.op == ltl.Yesterday:
		return p.constant(false)
	case before == nil && f.op == ltl.WeakPrev:
		return p.constant(true)
	default:
		return was
	}
}

// recursive evaluates the operators that follow from their own value in the state before. The
// function own returns that value.
func (p *past) recursive(op ltl.Op, l, r decision.Node, before []bool, own func() bool) decision.Node {
	weak := op == ltl.Historically || op == ltl.WeakSince || op == ltl.WeakInterval
	was := p.constant(weak)
	if before != nil {
		was = p.constant(own())
	}
	switch op {
	case ltl.Once:
		return p.or.Apply(l, was)
	case ltl.Historically:
		return p.and.Apply(l, was)
	case ltl.Since, ltl.WeakSince:
		return p.or.Apply(r, p.and.Apply(l, was))
	default: // [f, g) is (!g) since (f && !g)
		return p.andNot.Apply(p.or.Apply(l, was), r)
	}
}

// after returns the memory after the next letter, by letter, if m is the memory before it.
func (p *past) after(m memory) decision.Node {
	if n, ok := p.next[m]; ok {
		return n
	}
	n := p.table.Leaf(p.memories.root())
	for _, kept := range p.kept {
		n = p.push.Apply(n, p.value(kept, m))
	}
	p.next[m] = n
	return n
}

// trie numbers strings of bits.
type trie struct {
	parent []uint32
	bit    []bool
	unique map[[2]uint32]uint32
}

// newTrie returns a trie in which number 0 is no string and 1 the empty one.
func newTrie() trie {
	return trie{parent: []uint32{0, 0}, bit: []bool{false, false}, unique: map[[2]uint32]uint32{}}
}

func (t *trie) root() uint32 { return 1 }

// push returns a string with one more bit, 0 or 1, at its end.
func (t *trie) push(s, bit uint32) uint32 {
	key := [2]uint32{s, bit}
	n, ok := t.unique[key]
	if !ok {
		n = uint32(len(t.parent))
		t.parent = append(t.parent, s)
		t.bit = append(t.bit, bit == 1)
		t.unique[key] = n
	}
	return n
}

// bits returns the bits of a string of the given length; nil for number 0.
func (t *trie) bits(s uint32, length int) []bool {
	if s == 0 {
		return nil
	}
	b := make([]bool, length)
	for i := length - 1; i >= 0; i-- {
		b[i] = t.bit[s]
		s = t.parent[s]
	}
	return b
}
