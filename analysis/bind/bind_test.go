package bind

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// world names the objects of a test: variables of 32 bits with a sign.
type world map[event.ObjectID]string

func (w world) Object(id event.ObjectID) run.Object {
	return run.Object{Name: w[id], Kind: event.KindVariable, Form: &event.Form{Class: event.FormSigned, Bits: 32}}
}
func (world) Thread(event.ThreadID) run.Thread   { return run.Thread{} }
func (world) Frames(event.StackID) []event.Frame { return nil }
func (world) Func(event.FuncID) event.Func       { return event.Func{} }

// check runs a specification over writes of one thread.
func check(t *testing.T, text string, w world, events []event.Event) (*Run, []finding.Finding) {
	t.Helper()
	s, problems := spec.Parse("test.tps", text)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	var monitors []*spec.Monitor
	for _, p := range s.Properties {
		m, problems := s.Monitor(p, spec.MonitorOptions{})
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		monitors = append(monitors, m)
	}
	r, err := New(Options{Spec: s, Monitors: monitors, Names: w, Window: 8, Queue: 8})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		e := events[i]
		e.Seq, e.Thread, e.Kind, e.Flags = uint64(i+1), 1, event.KindVariable, e.Flags|event.HasValue
		r.Event(&e)
	}
	return r, r.Finish()
}

// TestFormsComeWithTheVariables: the form of a variable that was not known before its first
// write is used from that write on.
func TestFormsComeWithTheVariables(t *testing.T) {
	const text = "var a : int = first\nvar b : int = second\nproperty low = always (a == 0 || b < 0)\n"
	minus := uint64(1<<32 - 1)
	w := world{1: "first", 2: "second"}
	if _, found := check(t, text, w, []event.Event{{Op: event.Write, Object: 2, Value: minus}, {Op: event.Write, Object: 1, Value: 1}}); len(found) != 0 {
		t.Errorf("-1 is not below 0: %+v", found)
	}
	_, found := check(t, text, w, []event.Event{{Op: event.Write, Object: 2, Value: 1}, {Op: event.Write, Object: 1, Value: 1}})
	if len(found) != 1 || found[0].Property != "low" {
		t.Fatalf("1 is below 0: %+v", found)
	}
	if f := found[0]; f.Count != 1 || f.Message != "this run violates low" {
		t.Errorf("the run itself violates it, once: %+v", f)
	}
}

// TestOneObjectAName: the variable of a forked process is another object of the same name.
func TestOneObjectAName(t *testing.T) {
	const text = "var a : int = first\nproperty low = always a < 5\n"
	r, found := check(t, text, world{1: "first", 2: "first"}, []event.Event{{Op: event.Write, Object: 1, Value: 1}, {Op: event.Write, Object: 2, Value: 7}})
	if len(found) != 0 || len(r.checked().Notes) < 2 {
		t.Errorf("findings %+v, notes %q", found, r.checked().Notes)
	}
}

// TestUnfit: a type that the program contradicts is an error of the run.
func TestUnfit(t *testing.T) {
	r, _ := check(t, "var a : float = first\nproperty low = always a < 5\n", world{1: "first"}, []event.Event{{Op: event.Write, Object: 1, Value: 1}})
	if r.unfit() == nil {
		t.Error("an int passes for a float")
	}
}

// TestUnrecorded: there is a note if nothing is known of a variable.
func TestUnrecorded(t *testing.T) {
	const text = "var a : int = first\nvar b : int = second\nproperty low = always (a < 5 || b < 5)\n"
	r, _ := check(t, text, world{1: "first"}, []event.Event{{Op: event.Write, Object: 1, Value: 1}})
	notes := strings.Join(r.checked().Notes, "\n")
	if !strings.Contains(notes, "nothing was recorded of the variable second") || strings.Contains(notes, "variable first") {
		t.Errorf("notes: %s", notes)
	}
}

// TestDefinitions: the report has the definitions of properties.
func TestDefinitions(t *testing.T) {
	const text = "var a : int = first\nvar second : int = second\nprop low = a < 5\nthread t = main\nevent put = write a -> v by t when v > 2\nproperty p \"too high\" =\n  always (put -> low || second == 1)\n"
	r, _ := check(t, text, world{1: "first"}, []event.Event{{Op: event.Write, Object: 1, Value: 1}})
	want := []run.Definition{{Name: "p", Text: "always (put -> low || second == 1)", Where: []run.Meaning{
		{Name: "put", Text: "write a -> v by t when v > 2"}, {Name: "low", Text: "a < 5"}, {Name: "a", Text: "first"},
	}}}
	if got := r.checked().Definitions; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
