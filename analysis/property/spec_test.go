package property_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/property"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

const valve = `
var w : int = water
var v : int = valve_opening
prop p = w > 26
prop q = w > 30
prop r = v > 55
property f1 "the valve opens too late" = always (q -> ((r && p) since start(p)))
property f2 = ere bad ({ }* { !p } { p }+ ( { p, !r } { p }* { q } | { q, !r } ) { }* | { p }* { q } { }*)
`

// TestSpecification runs the monitors and letters of specifications on the lattice.
func TestSpecification(t *testing.T) {
	s, problems := spec.Parse("valve.tps", valve)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	xs, err := eventtest.ReadExecutions("../../observer/lattice/testdata/jmpax/example1_water.json")
	if err != nil {
		t.Fatal(err)
	}
	x := &xs[0]
	o := property.Options{}
	var objects []event.ObjectID
	for _, v := range s.Vars {
		i := slices.Index(x.Names, v.Name)
		o.Variables, o.Initial = append(o.Variables, v.Path), append(o.Initial, uint64(x.Initial[i]))
		objects = append(objects, x.Objects[i])
	}
	o.Variable = func(id event.ObjectID) int { return slices.Index(objects, id) }
	for i := range s.Properties {
		o.Properties = append(o.Properties, specified(t, s, s.Properties[i]))
	}
	a, err := property.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Events {
		e := x.Events[i]
		e.Seq = uint64(i + 1)
		a.Event(&e)
	}
	fs := a.Finish()
	if len(fs) != 2 {
		t.Errorf("%d findings, want one a property", len(fs))
	}
	want := []string{"write 27 [{p true} {q false} {r false}]", "write 31 [{p true} {q true} {r false}]"}
	for _, f := range fs {
		var got []string
		for _, step := range f.Witness {
			if slices.SortFunc(step.Truth, func(a, b finding.Truth) int { return cmp.Compare(a.Name, b.Name) }); len(step.Truth) > 0 {
				got = append(got, fmt.Sprintf("%s %d %v", step.Op, step.Value, step.Truth))
			}
		}
		if !slices.Equal(got, want) || f.Confidence != finding.Predicted {
			t.Errorf("%s: %s, %q", f.Property, f.Confidence, got)
		}
	}
}

func specified(t *testing.T, s *spec.Spec, p *spec.Property) property.Property {
	t.Helper()
	m, problems := s.Monitor(p, spec.MonitorOptions{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	letters, problems := s.Letters(p, nil)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	out := property.Property{Name: p.Name, Message: p.Message, Monitor: m, Labels: letters, Variables: p.Vars}
	for _, e := range p.Events {
		out.Events |= 1 << e
	}
	for _, prop := range p.Propositions {
		out.Propositions = append(out.Propositions, prop.Name)
	}
	return out
}
