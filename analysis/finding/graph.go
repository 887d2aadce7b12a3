package finding

import "github.com/tracepredict/tracepredict/observer/event"

// Graph is a part of what a monitor sees of all schedules, for a picture. Of a property it is the lattice around the
// violation, of which the nodes are global states; of a typestate it is the protocol, of which the nodes are states of an
// object.
type Graph struct {
	Automaton bool      // of a typestate
	Variables []Initial // of a property: those of Node.Values
	Nodes     []Node
	Edges     []Edge
	Events    []Step // of Edges
	// Before is, of a lattice, the number of events in the first node. More is, by level, the number of nodes that are left out.
	Before int
	More   []int
}

// Node is a state in a Graph.
type Node struct {
	Level  int      // from 0: of a lattice, how many events later than the first; of a protocol, how many calls
	Name   string   // of a protocol's state
	Values []uint64 // of the variables
	// Witness and Observed report that the schedule of the finding, and that of the run, comes through it; Bad that the
	// specification is violated there.
	Witness, Observed, Bad bool
}

// Edge leads from a node to another, by an event or by calls.
type Edge struct {
	From, To          int // indices of Graph.Nodes
	Event             int // index of Graph.Events
	Calls             []string
	Witness, Observed bool
}

// MaxNodes is the number of nodes that a Graph of a protocol has.
const MaxNodes = 40

// remember adds the threads and objects of the graph to n.
func (g *Graph) remember(n *event.Names) {
	if g == nil {
		return
	}
	for _, v := range g.Variables {
		n.AddObject(v.Object)
	}
	for i := range g.Events {
		g.Events[i].Remember(n)
	}
}
