package property_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/property"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// guarded is an automaton whose edges carry conjunctions of literals over atoms.
type guarded struct {
	start, bad lattice.State
	edges      []guardedEdge
}

type guardedEdge struct {
	from, to lattice.State
	yes, no  lattice.Letter
}

func (g *guarded) Start(into []lattice.State) []lattice.State { return append(into, g.start) }
func (g *guarded) Bad(s lattice.State) bool                   { return s == g.bad }
func (g *guarded) Step(into []lattice.State, from lattice.State, l lattice.Letter) []lattice.State {
	if from == g.bad {
		return append(into, from)
	}
	for _, e := range g.edges {
		if e.from == from && l&e.yes == e.yes && l&e.no == 0 {
			into = append(into, e.to)
		}
	}
	return into
}

// comparisons are atoms such as "w > 26" over variables.
type comparisons []comparison

type comparison struct {
	left     int
	op       string
	constant int64
}

func (c comparisons) Letter(values []uint64, _ uint64) (l lattice.Letter) {
	for i, x := range c {
		a, b := int64(values[x.left]), x.constant
		if map[string]bool{">": a > b, "<": a < b, ">=": a >= b, "<=": a <= b, "==": a == b, "!=": a != b}[x.op] {
			l |= 1 << i
		}
	}
	return l
}

// wanted makes a property of one of a case; nil if it compares two variables.
func wanted(name string, w eventtest.Wanted, variables []string) *property.Property {
	g := &guarded{}
	p := &property.Property{Name: name, Monitor: g, Propositions: slices.Sorted(maps.Keys(w.Atoms))}
	for i := range variables {
		p.Variables = append(p.Variables, i)
	}
	var c comparisons
	for _, atom := range p.Propositions {
		f := strings.Fields(w.Atoms[atom])
		n, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return nil
		}
		c = append(c, comparison{slices.Index(variables, f[0]), f[1], n})
	}
	p.Labels = c
	states := map[string]lattice.State{}
	number := func(s any) lattice.State {
		if _, ok := states[fmt.Sprint(s)]; !ok {
			states[fmt.Sprint(s)] = lattice.State(len(states))
		}
		return states[fmt.Sprint(s)]
	}
	g.start, g.bad = number(w.Automaton.Initial), number(w.Automaton.Bad)
	for _, e := range w.Automaton.Edges {
		x := guardedEdge{from: number(e[0]), to: number(e[2])}
		for _, lit := range strings.Split(e[1].(string), "&&") {
			lit = strings.TrimSpace(lit)
			bit := slices.Index(p.Propositions, strings.TrimPrefix(lit, "!"))
			switch {
			case lit == "true":
			case lit[0] == '!':
				x.no |= 1 << bit
			default:
				x.yes |= 1 << bit
			}
		}
		g.edges = append(g.edges, x)
	}
	return p
}

func analyse(t *testing.T, x *eventtest.Execution, props ...property.Property) (*property.Analysis, []finding.Finding) {
	t.Helper()
	o := property.Options{
		Properties: props, Variables: x.Names,
		Variable: func(id event.ObjectID) int { return slices.Index(x.Objects, id) },
	}
	for _, v := range x.Initial {
		o.Initial = append(o.Initial, uint64(v))
	}
	a, err := property.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Events {
		e := x.Events[i]
		e.Seq = uint64(i + 1)
		x.Events[i].Seq = e.Seq
		a.Event(&e)
	}
	return a, a.Finish()
}

func TestCases(t *testing.T) {
	paths, err := filepath.Glob("../../observer/lattice/testdata/jmpax/*.json")
	if err != nil || len(paths) < 30 {
		t.Fatalf("%d cases: %v", len(paths), err)
	}
	predicted := 0
	for _, path := range paths {
		xs, err := eventtest.ReadExecutions(path)
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range xs[0].Property {
			if p := wanted(name, w, xs[0].Names); p != nil && !strings.HasPrefix(filepath.Base(path), "cone_") {
				t.Run(filepath.Base(path)+" "+name, func(t *testing.T) { predicted += checkCase(t, &xs[0], p) })
			}
		}
	}
	if predicted < 10 {
		t.Errorf("%d predictions", predicted)
	}
}

func checkCase(t *testing.T, x *eventtest.Execution, p *property.Property) (predicted int) {
	t.Helper()
	var want struct {
		Expect struct {
			Properties map[string]struct {
				Observed bool `json:"observed_run_violates"`
				Count    int  `json:"violating_run_count"`
			} `json:"properties"`
		} `json:"expect"`
	}
	if err := json.Unmarshal(x.Expect, &want); err != nil {
		t.Fatal(err)
	}
	w := want.Expect.Properties[p.Name]
	_, fs := analyse(t, x, *p)
	observed := false
	for i := range fs {
		f := &fs[i]
		observed = observed || f.Confidence == finding.Observed
		if f.Confidence == finding.Potential {
			t.Errorf("potential: %s", f.Reason)
		}
		if f.Confidence == finding.Predicted {
			predicted++
		}
		checkFinding(t, f)
	}
	if observed != w.Observed || (len(fs) > 0) != (w.Count > 0) {
		t.Errorf("%d findings, observed %v; want %v, %d runs", len(fs), observed, w.Observed, w.Count)
	}
	return predicted
}

func checkFinding(t *testing.T, f *finding.Finding) {
	t.Helper()
	if f.Kind != finding.Property || f.Property == "" || f.Message == "" || f.Count < 1 {
		t.Errorf("%+v", f)
	}
	if f.Confidence == finding.Predicted {
		if len(f.Evidence) == 0 || f.Order == finding.OrderNone || len(f.Assumes) == 0 {
			t.Errorf("predicted: %+v", f)
		}
		if last := f.Witness[len(f.Witness)-1]; len(last.Truth) == 0 {
			t.Errorf("the witness ends without propositions: %+v", last)
		}
	}
}

// TestExample1 is the paper's example in full: the run is good, and another opens the
// valve too late.
func TestExample1(t *testing.T) {
	xs, err := eventtest.ReadExecutions("../../observer/lattice/testdata/jmpax/example1_water.json")
	if err != nil {
		t.Fatal(err)
	}
	x := &xs[0]
	p := wanted("F1", x.Property["F1"], x.Names)
	p.Message = "the valve opens too late"
	a, fs := analyse(t, x, *p)
	if len(fs) != 1 {
		t.Fatalf("%d findings", len(fs))
	}
	var got []string
	for _, s := range fs[0].Witness {
		got = append(got, fmt.Sprintf("T%d %s %d = %d %v", s.Thread, s.Op, s.Object, s.Value, s.Truth))
	}
	if diff := cmp.Diff([]string{
		"T2 read 1 = 24 []", "T1 write 1 = 27 [{p true} {q false} {r false}]", "T1 write 1 = 31 [{p true} {q true} {r false}]",
	}, got); diff != "" {
		t.Errorf("witness: %s", diff)
	}
	if want := "another schedule of this run violates F1: the valve opens too late"; fs[0].Message != want {
		t.Errorf("message %q", fs[0].Message)
	}
	if notes := a.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "every run") {
		t.Errorf("notes %q", notes)
	}
	var all []finding.Step
	for i := range x.Events[:6] {
		e := &x.Events[i]
		all = append(all, finding.Step{Seq: e.Seq, Thread: e.Thread, Op: e.Op, Object: e.Object})
	}
	if err := predict.Check(x.Events, all, finding.Property); err != nil {
		t.Errorf("the observed run: %v", err)
	}
}
