package eventtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// GuardedMonitor is the automaton of a worked example: its edges are labelled with
// conjunctions of literals over atoms, which are the bits of a letter. It is a
// lattice.Monitor.
type GuardedMonitor struct {
	start, bad uint32
	edges      []guardedEdge
}

type guardedEdge struct {
	from, to uint32
	yes, no  uint64
}

// Start appends the initial state.
func (g *GuardedMonitor) Start(into []uint32) []uint32 { return append(into, g.start) }

// Bad reports whether a state is the bad one.
func (g *GuardedMonitor) Bad(s uint32) bool { return s == g.bad }

// Step appends the states that follow.
func (g *GuardedMonitor) Step(into []uint32, from uint32, letter uint64) []uint32 {
	if from == g.bad {
		return append(into, from)
	}
	for _, e := range g.edges {
		if e.from == from && letter&e.yes == e.yes && letter&e.no == 0 {
			into = append(into, e.to)
		}
	}
	return into
}

// Comparisons are the atoms of a worked example, "w > 26" or "y == z", each a bit of a
// letter; lattice.Labels.
type Comparisons []comparison

type comparison struct {
	left     int
	op       string
	right    int // a variable, or -1
	constant int64
}

// Letter returns the atoms that are true for the values.
func (c Comparisons) Letter(values []uint64, _ uint64) (letter uint64) {
	for i, x := range c {
		a, b := int64(values[x.left]), x.constant
		if x.right >= 0 {
			b = int64(values[x.right])
		}
		if x.holds(a, b) {
			letter |= 1 << i
		}
	}
	return letter
}

func (x *comparison) holds(a, b int64) bool {
	switch x.op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "==":
		return a == b
	}
	return a != b
}

// AtomNames returns the names of the atoms, in the order of their bits.
func (w *PropertyAutomaton) AtomNames() []string { return slices.Sorted(maps.Keys(w.Atoms)) }

// Monitor returns the automaton and the atoms of a property over variables.
func (w *PropertyAutomaton) Monitor(variables []string) (*GuardedMonitor, Comparisons, error) {
	names := w.AtomNames()
	var c Comparisons
	for _, name := range names {
		x, err := parseComparison(w.Atoms[name], variables)
		if err != nil {
			return nil, nil, err
		}
		c = append(c, x)
	}
	states := map[string]uint32{}
	number := func(s any) uint32 {
		if _, ok := states[fmt.Sprint(s)]; !ok {
			states[fmt.Sprint(s)] = uint32(len(states))
		}
		return states[fmt.Sprint(s)]
	}
	g := &GuardedMonitor{start: number(w.Automaton.Initial), bad: number(w.Automaton.Bad)}
	for _, e := range w.Automaton.Edges {
		x := guardedEdge{from: number(e[0]), to: number(e[2])}
		if err := x.guard(fmt.Sprint(e[1]), names); err != nil {
			return nil, nil, err
		}
		g.edges = append(g.edges, x)
	}
	return g, c, nil
}

// guard sets the literals of an edge from a conjunction.
func (x *guardedEdge) guard(text string, atoms []string) error {
	for _, lit := range strings.Split(text, "&&") {
		lit = strings.TrimSpace(lit)
		bit := slices.Index(atoms, strings.TrimPrefix(lit, "!"))
		switch {
		case lit == "true":
		case bit < 0:
			return fmt.Errorf("guard %q: no atom %q", text, lit)
		case lit[0] == '!':
			x.no |= 1 << bit
		default:
			x.yes |= 1 << bit
		}
	}
	return nil
}

// parseComparison parses an atom.
func parseComparison(text string, variables []string) (comparison, error) {
	f := strings.Fields(text)
	if len(f) != 3 || !slices.Contains([]string{"<", "<=", ">", ">=", "==", "!="}, f[1]) {
		return comparison{}, fmt.Errorf("atom %q is no comparison", text)
	}
	x := comparison{left: slices.Index(variables, f[0]), op: f[1], right: slices.Index(variables, f[2])}
	if x.left < 0 {
		return x, fmt.Errorf("atom %q: no variable %q", text, f[0])
	}
	if x.right < 0 {
		n, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return x, fmt.Errorf("atom %q: %w", text, err)
		}
		x.constant = n
	}
	return x, nil
}
