package report

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Graph is a finding.Graph with texts: of a property the lattice around the violation, of a typestate its protocol.
type Graph struct {
	Kind   string      `json:"kind"` // GraphLattice or GraphProtocol
	Nodes  []GraphNode `json:"nodes"`
	Edges  []GraphEdge `json:"edges"`
	Before int         `json:"events_before"` // of a lattice, the number of events before the first node
	More   []int       `json:"more"`          // by level, the number of nodes that are left out
}

// The kinds of graphs.
const (
	GraphLattice  = "lattice"
	GraphProtocol = "protocol"
)

// GraphNode is a global state, or a state of an object.
type GraphNode struct {
	Level    int    `json:"level"` // from 0
	Label    string `json:"label"` // "x = 1, y = 0", or the name of the state; "" if there is nothing to tell
	Witness  bool   `json:"witness,omitempty"`
	Observed bool   `json:"observed,omitempty"`
	Bad      bool   `json:"bad,omitempty"`
}

// GraphEdge leads from a node to another, both as indices.
type GraphEdge struct {
	From     int    `json:"from"`
	To       int    `json:"to"`
	Label    string `json:"label"` // "T2 writes x = 1", or the names of calls
	Witness  bool   `json:"witness,omitempty"`
	Observed bool   `json:"observed,omitempty"`
}

// The bounds of what is shown of a graph.
const (
	maxLabel     = 60 // columns
	maxCalls     = 4  // of an edge
	maxVariables = 4  // of a node
	mostNodes    = 1000
)

// graph returns the texts of a graph; nil of nil.
func (b *builder) graph(g *finding.Graph) *Graph {
	if g == nil {
		return nil
	}
	out := &Graph{Kind: GraphLattice, Before: g.Before, More: append([]int{}, g.More...), Nodes: []GraphNode{}, Edges: []GraphEdge{}}
	if g.Automaton {
		out.Kind = GraphProtocol
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		label := Clean(n.Name)
		if !g.Automaton {
			label = b.valuesText(g.Variables, n.Values)
		}
		out.Nodes = append(out.Nodes, GraphNode{n.Level, label, n.Witness, n.Observed, n.Bad})
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		label := callsText(e.Calls)
		if !g.Automaton {
			s := b.step(&g.Events[e.Event])
			label = fmt.Sprintf("T%d %s", s.Thread, StepText(s, maxLabel))
		}
		out.Edges = append(out.Edges, GraphEdge{e.From, e.To, label, e.Witness, e.Observed})
	}
	return out
}

// valuesText returns "x = 1, y = 0".
func (b *builder) valuesText(variables []finding.Initial, values []uint64) string {
	var parts []string
	for i, v := range variables[:min(len(variables), len(values))] {
		if i == maxVariables {
			parts = append(parts, "...")
			break
		}
		s := Step{Step: finding.Step{Flags: event.HasValue, Value: values[i]}}
		if v.Object != 0 {
			s.Object = b.object(v.Object)
		}
		parts = append(parts, fmt.Sprintf("%s = %s", ShortName(Clean(v.Name), maxLabel/2), ShortText(s.ValueText(), maxLabel/2)))
	}
	return strings.Join(parts, ", ")
}

// callsText returns "open, read and 3 more".
func callsText(calls []string) string {
	shown := cleanAll(calls[:min(len(calls), maxCalls)])
	if more := len(calls) - len(shown); more > 0 {
		return strings.Join(shown, ", ") + plural.Sprintf(" and %d more", more)
	}
	return strings.Join(shown, ", ")
}

// Check returns an error if a graph that was read has edges of nodes that it lacks, or too many nodes to be drawn.
func (g *Graph) Check() error {
	if g == nil {
		return nil
	}
	if len(g.Nodes) > mostNodes || len(g.Edges) > 4*mostNodes || len(g.More) > mostNodes {
		return fmt.Errorf("its graph has %d nodes and %d edges", len(g.Nodes), len(g.Edges))
	}
	for _, n := range g.Nodes {
		if n.Level < 0 || n.Level >= mostNodes {
			return fmt.Errorf("a node of its graph is on level %d", n.Level)
		}
	}
	for _, e := range g.Edges {
		if e.From < 0 || e.To < 0 || e.From >= len(g.Nodes) || e.To >= len(g.Nodes) {
			return fmt.Errorf("an edge of its graph leads from node %d to %d, and there are %d", e.From, e.To, len(g.Nodes))
		}
	}
	return nil
}

// StatesText returns "open -> closed", the states of a protocol around a call; "" for other steps.
func StatesText(s *Step) string {
	if len(s.Before) == 0 {
		return ""
	}
	after := "broken"
	if len(s.After) > 0 {
		after = strings.Join(s.After, " or ")
	}
	return strings.Join(s.Before, " or ") + " -> " + after
}
