package html

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

// withGraph returns a report of findings that have a graph.
func withGraph(g *report.Graph) report.Report {
	r := reporttest.Shop(reporttest.Race())
	r.Findings[0].Graph = g
	return r
}

// TestLattice: the states and events around a violation are drawn, with the schedule, the run and what is left out.
func TestLattice(t *testing.T) {
	g := &report.Graph{
		Kind: report.GraphLattice, Before: 7, More: []int{0, 3, 0},
		Nodes: []report.GraphNode{
			{Label: "x = 0", Witness: true, Observed: true}, {Level: 1, Label: "x = 1", Witness: true},
			{Level: 1, Label: `<script>"`, Observed: true}, {Level: 2, Label: "x = 2", Witness: true, Bad: true},
		},
		Edges: []report.GraphEdge{{To: 1, Label: "T2 writes x = 1", Witness: true}, {To: 2, Label: "T3 writes y = 1", Observed: true}, {From: 1, To: 3, Label: "T2 writes x = 2", Witness: true}},
	}
	text := write(t, withGraph(g))
	for part, want := range map[string]int{
		`class="graph lattice"`: 1, `<g class="node`: 4, `<g class="edge`: 3, `<g class="edge witness"`: 2, `<g class="edge this-run"`: 1, `<g class="node witness bad"`: 1,
		">… 3 more<": 1, "&lt;script&gt;": 2, "<script": 0, "The first box is the state after 7 events.": 1, ">T2</text>": 2, "<title>T2 writes x = 2</title>": 1,
	} {
		if n := strings.Count(text, part); n != want {
			t.Errorf("%q is there %d times, not %d", part, n, want)
		}
	}
}

// TestProtocol: edges to any state are drawn, each with its calls.
func TestProtocol(t *testing.T) {
	g := &report.Graph{Kind: report.GraphProtocol, Nodes: []report.GraphNode{
		{Label: "fresh", Witness: true}, {Level: 1, Label: "open", Witness: true}, {Level: 1, Label: "paused"}, {Level: 2, Label: "broken", Witness: true, Bad: true},
	}}
	for from := range g.Nodes {
		for to := range g.Nodes {
			for range 2 {
				g.Edges = append(g.Edges, report.GraphEdge{From: from, To: to, Label: fmt.Sprintf("call%d%d", from, to)})
			}
		}
	}
	text := write(t, withGraph(g))
	if n := strings.Count(text, `<g class="edge`); n != 32 || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Errorf("%d edges, not 32:\n%s", n, text)
	}
	for from := range g.Nodes {
		if part := fmt.Sprintf(">call%d%d</text>", from, from); strings.Count(text, part) != 2 {
			t.Errorf("%q is there %d times", part, strings.Count(text, part))
		}
	}
}

// TestGraphsOfOtherVersions: a graph that was read and has more nodes than are ever written is not drawn.
func TestGraphsOfOtherVersions(t *testing.T) {
	g := &report.Graph{Kind: report.GraphLattice, Nodes: make([]report.GraphNode, 200)}
	if strings.Contains(write(t, withGraph(g)), "<svg class=\"graph") {
		t.Error("200 nodes are drawn")
	}
	if strings.Contains(write(t, withGraph(&report.Graph{Kind: report.GraphProtocol})), "<svg class=\"graph") {
		t.Error("a picture of nothing")
	}
}
