package typestate

import (
	"math/bits"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// move is what a call of a witness does to an object.
type move struct {
	seq         uint64
	call        int
	before, now lattice.State
}

// moves returns what the calls of the object do in a witness, from the beginning of what is kept of the object.
func (a *Analysis) moves(c *check, w *lattice.Witness) (out []move) {
	s, m := c.Object.Data.start, a.automata[c.Object.Data.protocol]
	add := func(seq, letter uint64) {
		x := m.move(s, seq, letter)
		out, s = append(out, x), x.now
	}
	for _, x := range c.Steps {
		if x.Seq <= w.From && x.Reads {
			add(x.Seq, x.Events)
		}
	}
	for _, x := range w.Steps {
		if x.Reads {
			add(x.Seq, x.Letter)
		}
	}
	return out
}

// movesOfRun returns the same of the calls of the run, from the last state that it has in common with a witness.
func (a *Analysis) movesOfRun(c *check, w *lattice.Witness) (out []move) {
	s, m := a.common(c, w), a.automata[c.Object.Data.protocol]
	for _, x := range c.Between(w) {
		next := m.move(s, x.Seq, x.Events)
		out, s = append(out, next), next.now
	}
	return out
}

// move returns what the call of a letter does to an object in a state.
func (m *automaton) move(s lattice.State, seq, letter uint64) move {
	call := bits.TrailingZeros64(letter)
	return move{seq, call, s, m.step(s, call)}
}

// maxNamed is the number of states that a step names.
const maxNamed = 8

// addStates adds to steps the states of the object before and after them.
func (m *automaton) addStates(steps []finding.Step, moves []move) {
	for i := range steps {
		if k := slices.IndexFunc(moves, func(x move) bool { return x.seq == steps[i].Seq }); k >= 0 && steps[i].Use != "" {
			steps[i].Before, steps[i].After = m.few(moves[k].before), m.few(moves[k].now)
		}
	}
}

// few returns the names of the first states of a set.
func (m *automaton) few(n lattice.State) []string {
	all := m.names(n)
	return all[:min(len(all), maxNamed)]
}

// graph returns the protocol, on which the moves are marked. The last of them breaks it. If it has too many states, those
// of the moves come first.
func (m *automaton) graph(moves []move) *finding.Graph {
	if len(moves) == 0 || m.p.Unnamed {
		return nil
	}
	in := make([]set, 0, len(moves)+1)
	for _, x := range moves {
		in = append(in, m.set(x.before))
	}
	levels := m.levels()
	d := drawing{graph: &finding.Graph{Automaton: true}, protocol: m.p, levels: levels, at: map[int]int{}}
	last := moves[len(moves)-1]
	for _, s := range in {
		d.add(func(i int) bool { return s.has(i) })
	}
	d.add(func(int) bool { return true })
	d.edges(func(from, call, to int) bool {
		return slices.ContainsFunc(moves, func(x move) bool { return x.call == call && m.set(x.before).has(from) && m.set(x.now).has(to) })
	})
	d.broken(func(i int) bool { return m.set(last.before).has(i) }, last.call)
	return d.graph
}

// set returns a set by its number.
func (m *automaton) set(n lattice.State) set {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sets[n]
}

// levels returns, by state, how many calls lead there from the first state; one that no calls lead to is on a level below
// all others.
func (m *automaton) levels() []int {
	out := make([]int, len(m.p.States))
	for i := range out {
		out[i] = -1
	}
	if len(out) == 0 {
		return nil
	}
	deepest := 0
	out[0] = 0
	for next := []int{0}; len(next) > 0; next = next[1:] {
		i := next[0]
		deepest = max(deepest, out[i])
		for _, to := range m.p.States[i].Next {
			for _, j := range to {
				if out[j] < 0 {
					out[j] = out[i] + 1
					next = append(next, j)
				}
			}
		}
	}
	for i := range out {
		if out[i] < 0 {
			out[i] = deepest + 1
		}
	}
	return out
}

// drawing makes the graph of a protocol.
type drawing struct {
	graph    *finding.Graph
	protocol *Protocol
	levels   []int
	at       map[int]int // by state: the index of its node
}

// add adds the states for which wanted is true, as far as there is room.
func (d *drawing) add(wanted func(state int) bool) {
	g := d.graph
	for i := range d.protocol.States {
		if _, known := d.at[i]; known || !wanted(i) {
			continue
		}
		if len(g.Nodes) == finding.MaxNodes {
			g.More = append(g.More, make([]int, max(0, d.levels[i]+1-len(g.More)))...)
			g.More[d.levels[i]]++
			continue
		}
		d.at[i] = len(g.Nodes)
		g.Nodes = append(g.Nodes, finding.Node{Level: d.levels[i], Name: d.protocol.States[i].Name})
	}
}

// edges adds the calls between states that are drawn. Those for which marked is true are of the witness.
func (d *drawing) edges(marked func(from, call, to int) bool) {
	type ends struct {
		from, to int
		marked   bool
	}
	known := map[ends]int{}
	for from := range d.protocol.States {
		for call, next := range d.protocol.States[from].Next {
			for _, to := range next {
				a, drawn := d.at[from]
				b, also := d.at[to]
				if !drawn || !also {
					continue
				}
				k := ends{a, b, marked(from, call, to)}
				i, is := known[k]
				if !is {
					i = len(d.graph.Edges)
					known[k] = i
					d.graph.Edges = append(d.graph.Edges, finding.Edge{From: a, To: b, Witness: k.marked})
				}
				e := &d.graph.Edges[i]
				e.Calls = append(e.Calls, d.protocol.Calls[call].Name)
				if k.marked {
					d.graph.Nodes[a].Witness, d.graph.Nodes[b].Witness = true, true
				}
			}
		}
	}
}

// broken adds the call that breaks the protocol, from the states in which the object is then.
func (d *drawing) broken(in func(state int) bool, call int) {
	g, level := d.graph, 0
	var from []int
	for i := range d.protocol.States {
		if at, drawn := d.at[i]; drawn && in(i) {
			from, level = append(from, at), max(level, d.levels[i]+1)
		}
	}
	g.Nodes = append(g.Nodes, finding.Node{Level: level, Name: "broken", Witness: true, Bad: true})
	for _, at := range from {
		g.Nodes[at].Witness = true
		g.Edges = append(g.Edges, finding.Edge{From: at, To: len(g.Nodes) - 1, Calls: []string{d.protocol.Calls[call].Name}, Witness: true})
	}
}
