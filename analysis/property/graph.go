package property

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// graphOf returns the lattice around a violation, with the values of the property's variables; nil if it is not known, or
// has a way that is not kept in the log. The objects of variables may be 0.
func graphOf(p *Property, x *lattice.Excerpt, log kept.Log, names []string, objects []event.ObjectID) *finding.Graph {
	if x == nil {
		return nil
	}
	g := &finding.Graph{Before: x.Levels[0].Number}
	for _, v := range p.Variables {
		of := finding.Initial{Name: names[v]}
		if v < len(objects) {
			of.Object = objects[v]
		}
		g.Variables = append(g.Variables, of)
	}
	var first []int // by level: the number of its first node
	for i, l := range x.Levels {
		first = append(first, len(g.Nodes))
		g.More = append(g.More, l.More)
		for _, c := range l.Cuts {
			n := finding.Node{Level: i, Witness: c.Witness, Observed: c.Observed, Bad: i == len(x.Levels)-1}
			for _, v := range p.Variables {
				n.Values = append(n.Values, c.Values[v])
			}
			g.Nodes = append(g.Nodes, n)
		}
	}
	events := map[uint64]int{} // by Seq
	for _, k := range x.Links {
		at, known := events[k.Seq]
		if !known {
			e := log.Find(k.Seq)
			if e == nil {
				return nil
			}
			at = len(g.Events)
			events[k.Seq], g.Events = at, append(g.Events, e.Step())
		}
		g.Edges = append(g.Edges, finding.Edge{From: first[k.Level] + k.From, To: first[k.Level+1] + k.To, Event: at, Witness: k.Witness, Observed: k.Observed})
	}
	return g
}
