package property_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/property"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// wanted returns the property for one of a case.
func wanted(t *testing.T, name string, w eventtest.PropertyAutomaton, variables []string) *property.Property {
	t.Helper()
	m, labels, err := w.Monitor(variables)
	if err != nil {
		t.Fatal(err)
	}
	p := &property.Property{Name: name, Monitor: m, Labels: labels, Propositions: w.AtomNames()}
	for i := range variables {
		p.Variables = append(p.Variables, i)
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
			if p := wanted(t, name, w, xs[0].Names); !strings.HasPrefix(filepath.Base(path), "cone_") {
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
		checkGraph(t, f)
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
	p := wanted(t, "F1", x.Property["F1"], x.Names)
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
		all = append(all, finding.Step{Seq: e.Seq, Thread: e.Thread, Op: e.Op, Object: e.Object, Peer: e.Peer})
	}
	if err := execution.Observe(x.Events).Check(all, finding.Property); err != nil {
		t.Errorf("the observed run: %v", err)
	}
}
