package property_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// checkGraph checks that the witness leads through the lattice of a finding, one node a level, to the only bad one.
func checkGraph(t *testing.T, f *finding.Finding) {
	t.Helper()
	g := f.Graph
	if g == nil {
		return // a monitor with several states at once turned bad before the violation
	}
	at, level := -1, 0
	for i, n := range g.Nodes {
		if n.Level == 0 && n.Witness {
			at = i
		}
	}
	for at >= 0 && !g.Nodes[at].Bad {
		next := slices.IndexFunc(g.Edges, func(e finding.Edge) bool { return e.From == at && e.Witness })
		if next < 0 {
			break
		}
		if at, level = g.Edges[next].To, level+1; g.Nodes[at].Level != level {
			t.Errorf("an edge leads from level %d to %d", level-1, g.Nodes[at].Level)
		}
	}
	if at < 0 || !g.Nodes[at].Bad {
		t.Errorf("the witness does not lead to a bad state: %+v", g)
	}
	if n := len(slices.DeleteFunc(slices.Clone(g.Nodes), func(n finding.Node) bool { return !n.Bad })); n != 1 {
		t.Errorf("%d bad states", n)
	}
}

// drawn returns a graph as text: a line a level, with the witness in brackets and the run's states starred.
func drawn(g *finding.Graph) (lines []string) {
	if g == nil {
		return nil
	}
	for i, n := range g.Nodes {
		text := fmt.Sprint(n.Values)
		if n.Observed {
			text += "*"
		}
		if n.Witness {
			text = "(" + text + ")"
		}
		if n.Level == len(lines) {
			lines = append(lines, "")
		}
		for _, e := range g.Edges {
			if e.To == i {
				text += fmt.Sprintf(" T%d<%d", g.Events[e.Event].Thread, e.From)
			}
		}
		lines[n.Level] = strings.TrimSpace(lines[n.Level] + "  " + text)
	}
	return lines
}

// TestGraphOfExample1 compares the lattice of the paper's example with its figure.
func TestGraphOfExample1(t *testing.T) {
	xs, err := eventtest.ReadExecutions("../../observer/lattice/testdata/jmpax/example1_water.json")
	if err != nil {
		t.Fatal(err)
	}
	x := &xs[0]
	_, fs := analyse(t, x, *wanted(t, "F1", x.Property["F1"], x.Names))
	if len(fs) != 1 || fs[0].Graph == nil {
		t.Fatalf("%d findings, or no graph", len(fs))
	}
	if diff := cmp.Diff([]string{"([20 40]*)", "([24 40]*) T1<0", "([27 40]) T1<1  [24 50]* T2<1", "([31 40]) T1<2"}, drawn(fs[0].Graph)); diff != "" {
		t.Error(diff)
	}
}
