package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestGraph: states have the values of variables, and edges their events or calls.
func TestGraph(t *testing.T) {
	f := reporttest.Race()
	f.Graph = &finding.Graph{
		Variables: []finding.Initial{{Name: "t\x1b", Object: reporttest.Tickets}, {Name: "u"}}, More: []int{2},
		Nodes:  []finding.Node{{Values: []uint64{40, 1}, Witness: true}, {Level: 1, Values: []uint64{41, 1}, Bad: true}},
		Edges:  []finding.Edge{{To: 1, Witness: true}},
		Events: []finding.Step{{Seq: 3, Thread: 2, Op: event.Write, Flags: event.HasValue, Value: 41, Object: reporttest.Tickets, Stack: 5}},
	}
	want := &report.Graph{
		Kind: report.GraphLattice, More: []int{2},
		Nodes: []report.GraphNode{{Label: `t\x1b = 40, u = 1`, Witness: true}, {Level: 1, Label: `t\x1b = 41, u = 1`, Bad: true}},
		Edges: []report.GraphEdge{{To: 1, Label: "T2 writes tickets = 41", Witness: true}},
	}
	if diff := cmp.Diff(want, reporttest.Shop(f).Findings[0].Graph); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	f.Graph = &finding.Graph{Automaton: true, Nodes: []finding.Node{{Name: "open"}}, Edges: []finding.Edge{{Calls: strings.Fields("a b c d e f")}}}
	if got := reporttest.Shop(f).Findings[0].Graph.Edges[0].Label; got != "a, b, c, d and 2 more" {
		t.Errorf("%q", got)
	}
}

// TestGraphCheck: a graph that was read may have any numbers.
func TestGraphCheck(t *testing.T) {
	good := report.Graph{Nodes: make([]report.GraphNode, 2), Edges: []report.GraphEdge{{From: 0, To: 1}}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*report.Graph){
		func(g *report.Graph) { g.Edges[0].From = -1 },
		func(g *report.Graph) { g.Edges[0].To = 2 },
		func(g *report.Graph) { g.Nodes[0].Level = -1 },
		func(g *report.Graph) { g.Nodes[0].Level = 1 << 30 },
		func(g *report.Graph) { g.Nodes = make([]report.GraphNode, 2000) },
	} {
		bad := report.Graph{Nodes: slices.Clone(good.Nodes), Edges: slices.Clone(good.Edges)}
		if change(&bad); bad.Check() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestStatesText(t *testing.T) {
	for want, s := range map[string]finding.Step{
		"":                         {},
		"open -> closed":           {Before: []string{"open"}, After: []string{"closed"}},
		"open or closed -> broken": {Before: []string{"open", "closed"}},
	} {
		if got := report.StatesText(&report.Step{Step: s}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
