package spec

import (
	"math"
	"slices"
	"strconv"

	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// The bounds of the search for an example with values: the number of valuations, and the number
// of pairs of a valuation and a state of the monitor.
const (
	maxValuations = 1 << 12
	maxVisited    = 1 << 18
)

// example is a run that violates a property.
type example struct {
	letters []monitor.Letter
	// values are the values of the property's Vars in each state; nil where only the
	// letters are known.
	values [][]uint64
	// event is, for each state, the index in Spec.Events of the event that made it; -1 for
	// a write and for the initial state.
	event []int
}

// example returns a shortest run that violates a property. In each step one variable is
// written, or one event happens. The values tried are those around the numbers that the
// property mentions. If no run with these values violates the property, or there are too many
// values, the example has the letters of shortestBad and no values. example returns false if no
// word violates the property.
func (s *Spec) example(p *Property, m *Monitor) (example, bool) {
	word, ok := m.shortestBad()
	if !ok || len(word) == 0 {
		return example{letters: word}, ok
	}
	if e, ok := s.search(p, m); ok {
		return e, true
	}
	return example{letters: word}, true
}

// search is a breadth-first search over pairs of a valuation and a state of the monitor. A
// valuation assigns one of the values tried to each variable of the property. Its number has a
// digit for each variable, the lowest for the first, to the base of the variable's number of
// values.
type search struct {
	m          *Monitor
	letters    *Letters
	choices    [][]uint64 // by vars: the values tried
	vars       []int      // Property.Vars
	values     []uint64   // by Spec.Vars: the values of the last valuation that was set
	nodes      []searchNode
	seen       map[[2]uint32]bool // pairs of valuation and state that are in nodes
	total      int                // number of valuations
	exhaustive bool               // the steps tried are all that a run can take
}

// searchNode is a step of the search.
type searchNode struct {
	valuation uint32        // after the step
	state     monitor.State // after the step
	from      int           // index of the node before it; -1: the step is the initial state
	event     int           // index in Spec.Events; -1: none
	letter    monitor.Letter
}

// search returns an example with values; false if it finds none.
func (s *Spec) search(p *Property, m *Monitor) (example, bool) {
	x, ok := s.newSearch(p, m)
	if !ok {
		return example{}, false
	}
	at, found, _ := x.run(p.Events)
	if !found {
		return example{}, false
	}
	return x.example(at), true
}

// newSearch returns a search that has not begun. It returns false if there are too many
// valuations, or if the property's letters cannot be computed without the program.
func (s *Spec) newSearch(p *Property, m *Monitor) (*search, bool) {
	letters, problems := s.Letters(p, nil)
	x := &search{m: m, letters: letters, vars: p.Vars, values: make([]uint64, len(s.Vars)), seen: map[[2]uint32]bool{}, total: 1, exhaustive: exhaustive(s, p.Events)}
	if problems.HasErrors() {
		return nil, false
	}
	for _, v := range p.Vars {
		c := s.candidates(p, v)
		if x.total *= len(c); x.total > maxValuations {
			return nil, false
		}
		x.choices = append(x.choices, c)
	}
	return x, true
}

// run searches for a bad state, and returns the index of the node that reaches it. If it finds
// none, exhaustive reports whether the values tried reach none in any way.
func (x *search) run(events []int) (at int, found, exhaustive bool) {
	for v := range x.total {
		for _, start := range x.m.Start(nil) {
			x.step(-1, uint32(v), start, -1)
		}
	}
	for i := 0; i < len(x.nodes); i++ {
		if len(x.nodes) >= maxVisited {
			return 0, false, false
		}
		if x.m.Bad(x.nodes[i].state) {
			return i, true, true
		}
		n := x.nodes[i]
		for _, v := range x.writes(n.valuation) {
			x.step(i, v, n.state, -1)
		}
		for _, e := range events {
			x.step(i, n.valuation, n.state, e)
		}
	}
	return 0, false, x.exhaustive
}

// step adds the nodes that follow from the node from, in the given state of the monitor, by a
// step to a valuation, with an event or with none (-1).
func (x *search) step(from int, valuation uint32, state monitor.State, event int) {
	x.set(valuation)
	var events uint64
	if event >= 0 {
		events = 1 << event
	}
	letter := x.letters.Letter(x.values, events)
	for _, to := range x.m.Step(nil, state, letter) {
		key := [2]uint32{valuation, to}
		if !x.seen[key] {
			x.seen[key] = true
			x.nodes = append(x.nodes, searchNode{valuation, to, from, event, letter})
		}
	}
}

// set sets values to those of a valuation.
func (x *search) set(valuation uint32) {
	for i, c := range x.choices {
		x.values[x.vars[i]] = c[valuation%uint32(len(c))]
		valuation /= uint32(len(c))
	}
}

// writes returns the valuations that the write of one variable can lead to: those that differ in
// one variable and, if there are variables, the valuation itself.
func (x *search) writes(valuation uint32) []uint32 {
	var out []uint32
	if len(x.choices) > 0 {
		out = append(out, valuation)
	}
	unit, rest := uint32(1), valuation
	for _, c := range x.choices {
		n := uint32(len(c))
		now := rest % n
		for other := range n {
			if other != now {
				out = append(out, valuation-now*unit+other*unit)
			}
		}
		rest /= n
		unit *= n
	}
	return out
}

// example returns the example that ends with the i-th node.
func (x *search) example(i int) example {
	var e example
	for ; i >= 0; i = x.nodes[i].from {
		n := x.nodes[i]
		x.set(n.valuation)
		var values []uint64
		for _, v := range x.vars {
			values = append(values, x.values[v])
		}
		e.letters = append(e.letters, n.letter)
		e.values = append(e.values, values)
		e.event = append(e.event, n.event)
	}
	slices.Reverse(e.letters)
	slices.Reverse(e.values)
	slices.Reverse(e.event)
	return e
}

// candidates returns the values of a variable that are tried: 0, 1, and those around the
// numbers in the propositions that read it, and around their product.
func (s *Spec) candidates(p *Property, v int) []uint64 {
	class := s.Vars[v].Type
	if class == Bool {
		return []uint64{0, 1}
	}
	tried := []float64{0, 1}
	for _, q := range p.Propositions {
		if !slices.Contains(q.Vars, v) {
			continue
		}
		product := 1.0
		s.literals(q.Expr, map[int]bool{}, 1, func(n float64) {
			tried = append(tried, n-1, n, n+1)
			product *= n
		})
		tried = append(tried, product-1, product, product+1)
	}
	slices.Sort(tried)
	var out []uint64
	for _, n := range slices.Compact(tried) {
		switch {
		case class == Float:
			out = append(out, math.Float64bits(n))
		case n == math.Trunc(n) && math.Abs(n) < 1<<53 && (n >= 0 || class.signed()):
			out = append(out, uint64(int64(n)))
		}
	}
	return out
}

// literals calls see for each number in an expression and in the propositions that it mentions,
// except those seen already. Sign is -1 after a -.
func (s *Spec) literals(x syntax.Expr, seen map[int]bool, sign float64, see func(float64)) {
	switch x := x.(type) {
	case *syntax.Number:
		if x.Float {
			see(sign * x.Real)
		} else {
			see(sign * float64(x.Int))
		}
	case *syntax.Paren:
		s.literals(x.X, seen, sign, see)
	case *syntax.Unary:
		if x.Op == syntax.Negate {
			sign = -sign
		}
		s.literals(x.X, seen, sign, see)
	case *syntax.Binary:
		s.literals(x.X, seen, 1, see)
		s.literals(x.Y, seen, 1, see)
	case *syntax.Ident:
		if e := s.names.entries[x.Name.Text]; e.kind == kindProp && !seen[e.index] {
			seen[e.index] = true
			s.literals(s.Props[e.index].Expr, seen, 1, see)
		}
	}
}

// valueText writes a value of a variable as specifications do.
func (s *Spec) valueText(v int, bits uint64) string {
	switch class := s.Vars[v].Type; {
	case class == Bool:
		return strconv.FormatBool(bits != 0)
	case class == Float:
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	case !class.signed():
		return strconv.FormatUint(bits, 10)
	}
	return strconv.FormatInt(int64(bits), 10)
}
