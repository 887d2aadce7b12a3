package bind

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/run"
)

// raceCase is a case of analysis/knowledge about races.
type raceCase struct {
	Threads map[string]string
	Events  []struct {
		Thread, Op, Object string
		Value              uint64
	}
	Property struct {
		Variable string `json:"race_variable"`
	}
	Expect struct {
		Violations map[string][]int
		Adjacent   [][2]int `json:"conflicting_accesses_that_can_be_adjacent"`
	}
}

// racers names the objects of a case.
type racers struct{ objects []string }

func (r *racers) Object(id event.ObjectID) run.Object {
	return run.Object{Name: r.objects[id-1], Kind: event.KindVariable}
}
func (*racers) Thread(id event.ThreadID) run.Thread { return run.Thread{Main: id == 1} }
func (*racers) Frames(event.StackID) []event.Frame  { return nil }
func (*racers) Func(event.FuncID) event.Func        { return event.Func{} }

var opOfCase = map[string]event.Op{"read": event.Read, "write": event.Write, "acquire": event.Acquire, "release": event.Release}

// events returns the events of a case, after the main thread has created its threads. The stack of an event is its number
// in the case.
func (c *raceCase) events(names *racers) (out []event.Event) {
	for i := range c.Threads {
		id := event.ThreadID(i[0]-'0') + 1
		out = append(out, event.Event{Thread: 1, Op: event.Fork, Peer: id}, event.Event{Thread: id, Op: event.Begin})
	}
	for i, a := range c.Events {
		if !slices.Contains(names.objects, a.Object) {
			names.objects = append(names.objects, a.Object)
		}
		e := event.Event{
			Thread: event.ThreadID(a.Thread[0]-'0') + 1, Op: opOfCase[a.Op], Object: event.ObjectID(slices.Index(names.objects, a.Object) + 1),
			Kind: event.KindMutex, Stack: event.StackID(i + 1),
		}
		if e.Op.IsAccess() {
			e.Kind, e.Flags, e.Value = event.KindVariable, event.HasValue, a.Value
		}
		out = append(out, e)
	}
	for i := range out {
		out[i].Seq = uint64(i + 1)
	}
	return out
}

// byFormula returns the numbers of the events at which the paper's formula is violated.
func (c *raceCase) byFormula(t *testing.T) (at []int) {
	t.Helper()
	names := &racers{}
	events := c.events(names)
	s, _, problems := spec.ForRun("", spec.Options{
		More: "var x : int = " + c.Property.Variable + "\ncheck races(x)\n", MoreName: "--check", PaperRaces: true,
	}, spec.MonitorOptions{})
	if problems.HasErrors() || s.Requests("races") {
		t.Fatalf("%v, %+v", problems, s)
	}
	r, err := New(Options{Spec: s, Names: names})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		r.Event(&events[i])
	}
	for _, f := range r.formulas[0].monitor.Finish() {
		if f.Property != "races("+c.Property.Variable+")" {
			t.Errorf("the finding is of %s", f.Property)
		}
		at = append(at, int(f.Evidence[0].Stack))
	}
	return at
}

// byOrder returns the pairs of events that race by the order of the case's events, of its variable.
func (c *raceCase) byOrder() (pairs [][2]int) {
	names := &racers{}
	a := happensbefore.New(happensbefore.Options{})
	events := c.events(names)
	eventtest.Stamp(events)
	for i := range events {
		a.Event(&events[i])
	}
	of := event.ObjectID(slices.Index(names.objects, c.Property.Variable) + 1)
	for _, f := range a.Finish() {
		if f.Objects[0] == of {
			pairs = append(pairs, [2]int{int(f.Evidence[0].Stack), int(f.Evidence[1].Stack)})
		}
	}
	return pairs
}

// TestPaperRaces: --formula=paper finds what the formula of the paper says, which misses races that the order of events
// has, and has false alarms.
func TestPaperRaces(t *testing.T) {
	for _, test := range []struct {
		name string
		at   []int // where the formula becomes false
		race bool
	}{
		{"15_race_write_write", []int{4}, true},
		{"16_race_locked", nil, false},
		{"17_race_missed_plain_read", nil, true},
		{"18_race_missed_write_after_read", nil, true},
		{"19_race_read_after_write", []int{2, 3}, true}, // at 4 it is false still for the thread
		{"20_race_false_alarm", []int{5}, true},
		{"21_atomicity_example_race", nil, true},
	} {
		text, err := os.ReadFile(filepath.Join("../knowledge/testdata", test.name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var c raceCase
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		for _, at := range test.at {
			expected := false
			for _, v := range c.Expect.Violations {
				expected = expected || slices.Contains(v, at)
			}
			if !expected {
				t.Errorf("%s: the case has no violation at %d: %v", test.name, at, c.Expect.Violations)
			}
		}
		if got := c.byFormula(t); !slices.Equal(got, test.at) {
			t.Errorf("%s: the formula is violated at %d, want %d", test.name, got, test.at)
		}
		if got := c.byOrder(); (len(got) > 0) != test.race || (len(c.Expect.Adjacent) > 0) != test.race {
			t.Errorf("%s: races by the order at %d, want %d", test.name, got, c.Expect.Adjacent)
		}
	}
}
