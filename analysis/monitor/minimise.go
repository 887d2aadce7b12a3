package monitor

import "github.com/tracepredict/tracepredict/analysis/monitor/decision"

// minimisationWork bounds the number of nodes and states that are visited to minimise an
// automaton, which takes some seconds at most.
const minimisationWork = 30_000_000

// minimiser finds the equivalent states of a draft by Moore's partition refinement. It compares
// the edges of states as diagrams whose leaves are classes.
type minimiser struct {
	nodes   []choice // each after its operands; low of a leaf is its state
	roots   []uint32 // by state, into nodes
	class   []State  // by state: the number of its class
	classes int      // number of classes
}

// leafProposition marks a leaf among a minimiser's nodes.
const leafProposition = 64

func newMinimiser(d *draft) *minimiser {
	m := &minimiser{roots: make([]uint32, len(d.roots)), class: make([]State, len(d.roots))}
	indexOf := map[decision.Node]uint32{}
	var copyNode func(n decision.Node) uint32
	copyNode = func(n decision.Node) uint32 {
		if at, ok := indexOf[n]; ok {
			return at
		}
		c := choice{low: d.table.Value(n), proposition: leafProposition}
		if p, low, high, ok := d.table.Branch(n); ok {
			c = choice{low: copyNode(low), high: copyNode(high), proposition: uint8(p)}
		}
		at := uint32(len(m.nodes))
		m.nodes = append(m.nodes, c)
		indexOf[n] = at
		return at
	}
	for s, root := range d.roots {
		m.roots[s] = copyNode(root)
	}
	m.class, m.classes = distances(d)
	return m
}

// distances puts the states into classes by the least number of letters that leads to a
// bad state. States from which no bad state is reachable are the last class. Equivalent
// states are in one class, and long sequences of states then take few rounds.
func distances(d *draft) (class []State, classes int) {
	predecessors := make([][]State, len(d.roots))
	class = make([]State, len(d.roots))
	var todo []State
	for s, root := range d.roots {
		class[s] = noState
		if d.bad[s] {
			class[s], classes = 0, 1
			todo = append(todo, State(s))
		}
		d.table.Leaves(root, func(to uint32) bool {
			predecessors[to] = append(predecessors[to], State(s))
			return true
		})
	}
	reached := len(todo)
	for ; len(todo) > 0; todo = todo[1:] {
		for _, b := range predecessors[todo[0]] {
			if class[b] == noState {
				class[b] = class[todo[0]] + 1
				classes = int(class[b]) + 1
				reached++
				todo = append(todo, b)
			}
		}
	}
	if reached == len(class) {
		return class, classes
	}
	for s := range class {
		if class[s] == noState {
			class[s] = State(classes)
		}
	}
	return class, classes + 1
}

// refine splits the classes until all states of a class have equal edges, and returns true. If
// that visits more than work nodes and states, it makes each state a class of its own and
// returns false.
func (m *minimiser) refine(work int) bool {
	for {
		if work -= len(m.nodes) + len(m.roots); work < 0 {
			for s := range m.class {
				m.class[s] = State(s)
			}
			m.classes = len(m.class)
			return false
		}
		refs, _ := m.overClasses()
		split := map[[2]uint32]State{}
		next := make([]State, len(m.class))
		for s, root := range m.roots {
			key := [2]uint32{m.class[s], refs[root]}
			c, ok := split[key]
			if !ok {
				c = State(len(split))
				split[key] = c
			}
			next[s] = c
		}
		if len(split) <= m.classes {
			return true
		}
		m.class, m.classes = next, len(split)
	}
}

// overClasses returns the diagrams with classes in the place of states. The refs, one for each
// node, point into choices, in which equal functions are equal refs.
func (m *minimiser) overClasses() (refs []ref, choices []choice) {
	refs = make([]ref, len(m.nodes))
	unique := map[choice]ref{}
	for i, n := range m.nodes {
		if n.proposition == leafProposition {
			refs[i] = isState | m.class[n.low]
			continue
		}
		n.low, n.high = refs[n.low], refs[n.high]
		if n.low == n.high {
			refs[i] = n.low
			continue
		}
		at, ok := unique[n]
		if !ok {
			at = ref(len(choices))
			choices = append(choices, n)
			unique[n] = at
		}
		refs[i] = at
	}
	return refs, choices
}

// quotient returns the automaton whose states are the classes that can be reached. All bad
// states become one state, which is never left.
func (m *minimiser) quotient(d *draft) *Deterministic {
	m.uniteBad(d)
	refs, choices := m.overClasses()
	rootOf := make([]ref, m.classes)
	bad := noState
	for s, root := range m.roots {
		rootOf[m.class[s]] = refs[root]
		if d.bad[s] {
			bad = m.class[s]
		}
	}
	if bad != noState {
		rootOf[bad] = isState | bad
	}
	return number(choices, rootOf, m.class[0], bad)
}

// uniteBad puts all bad states into one class.
func (m *minimiser) uniteBad(d *draft) {
	bad := noState
	for s := range m.class {
		if !d.bad[s] {
			continue
		}
		if bad == noState {
			bad = m.class[s]
		}
		m.class[s] = bad
	}
}

// number returns the automaton with the states, and the choices of their edges, in the order of
// a breadth-first search from the initial state. The roots and the leaves of choices have the
// old numbers.
func number(choices []choice, rootOf []ref, initial, bad State) *Deterministic {
	d := &Deterministic{bad: noState}
	newState := map[State]State{initial: 0}
	order := []State{initial}
	newRef := map[ref]ref{}
	var visit func(r ref) ref
	visit = func(r ref) ref {
		if r&isState != 0 {
			s, ok := newState[r&^isState]
			if !ok {
				s = State(len(order))
				newState[r&^isState] = s
				order = append(order, r&^isState)
			}
			return isState | s
		}
		if at, ok := newRef[r]; ok {
			return at
		}
		c := choices[r]
		c.low, c.high = visit(c.low), visit(c.high)
		at := ref(len(d.choices))
		d.choices = append(d.choices, c)
		d.mask |= 1 << c.proposition
		newRef[r] = at
		return at
	}
	for i := 0; i < len(order); i++ {
		d.roots = append(d.roots, visit(rootOf[order[i]]))
		if order[i] == bad {
			d.bad = State(i)
		}
	}
	return d
}
