package knowledge

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
)

// execution is a run of a test, with formulas by name.
type execution struct {
	world    *world
	monitor  *Monitor
	locals   map[string][]uint64
	objects  []string
	names    []string // of formulas
	exprs    []*expr
	verdicts map[string]map[int]bool // by formula and number of the event, from 0
	at       int
}

// newExecution makes a monitor of several formulas. The bodies in extra are remote expressions that
// thread 0 evaluates besides.
func newExecution(threads []string, initial map[string]number, locals map[string]map[string]number, formulas map[string]*expr) *execution {
	variables := slices.Sorted(maps.Keys(initial))
	x := &execution{world: newWorld(threads, variables), locals: map[string][]uint64{}, objects: slices.Clone(variables), verdicts: map[string]map[int]bool{}}
	first := x.world.localsOf(locals)
	for _, name := range slices.Sorted(maps.Keys(formulas)) {
		x.names, x.exprs = append(x.names, name), append(x.exprs, formulas[name])
		x.verdicts[name] = map[int]bool{}
		x.world.add(formulas[name], nil)
	}
	x.monitor = New(Options{
		Formula: x.world.formula, Codes: x.world.codes, Locals: first,
		Is:      func(id event.ThreadID, number int) bool { return int(id) == number+1 },
		Verdict: func(top int, _ event.ThreadID, holds bool) { x.verdicts[x.names[top]][x.at] = holds },
	})
	for v, name := range variables {
		x.monitor.Initial(v, uint64(initial[name]))
	}
	for _, t := range threads {
		x.locals[t] = slices.Clone(first)
	}
	return x
}

var opOf = map[string]event.Op{"read": event.Read, "write": event.Write, "acquire": event.Acquire, "release": event.Release, "internal": event.Call}

// do passes an event to the monitor.
func (x *execution) do(i int, a *action) {
	x.at = i
	e := event.Event{Seq: uint64(i + 1), Thread: event.ThreadID(x.world.number(a.Thread) + 1), Op: opOf[a.Op], Value: uint64(a.Value), Stack: event.StackID(i + 1)}
	s := State{Variable: -1, Mentioned: true, Locals: x.locals[a.Thread]}
	switch {
	case a.Op == "internal":
		if k := slices.Index(x.world.locals, [2]string{a.Thread, a.Object}); k >= 0 {
			s.Locals[k] = uint64(a.Value)
		}
	default:
		if !slices.Contains(x.objects, a.Object) {
			x.objects = append(x.objects, a.Object)
		}
		e.Object, e.Kind, e.Flags = event.ObjectID(slices.Index(x.objects, a.Object)+1), event.KindVariable, event.HasValue
		if s.Variable = slices.Index(x.world.variables, a.Object); s.Variable >= 0 {
			s.Happened = []int{2*s.Variable + int(truth(a.Op == "write"))}
		}
	}
	x.monitor.Event(&e, s)
}

// number is an integer or a truth value.
type number int64

func (n *number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "true":
		*n = 1
	case "false":
		*n = 0
	default:
		return json.Unmarshal(text, (*int64)(n))
	}
	return nil
}

// testCase is a file of testdata.
type testCase struct {
	Threads  map[string]string
	Initial  map[string]number
	Locals   map[string]map[string]number
	Events   []action
	Property struct {
		Formulas map[string]string
		Blocks   map[string][]int
	}
	Expect struct {
		Knowledge []struct {
			Event  int
			Latest map[string]int
		}
		Verdicts map[string][]struct {
			Event   int
			Verdict bool
		}
		Violations map[string][]int
		Variables  []struct {
			Event int
			Seq   map[string]uint64
			Value map[string]number
		} `json:"variable_knowledge"`
	}
}

// TestCases compares the monitor with the worked examples of the paper, and executions around them:
// verdicts, violations, what threads know of each other, and of variables.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != 26 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c testCase
			if err := json.Unmarshal(text, &c); err != nil {
				t.Fatal(err)
			}
			checkCase(t, &c)
		})
	}
}

func checkCase(t *testing.T, c *testCase) {
	threads := slices.Sorted(maps.Keys(c.Threads))
	locals := map[string]map[string]number{}
	for _, name := range threads {
		locals[name] = map[string]number{"events": 0}
		maps.Copy(locals[name], c.Locals[name])
	}
	formulas := map[string]*expr{}
	for name, f := range c.Property.Formulas {
		formulas[name] = parse(f)
	}
	for _, other := range threads { // what is known of the others is in the vectors only if a formula mentions it
		formulas["latest event of "+other] = &expr{op: "@", name: threads[0], x: &expr{op: ">=", x: parse("@" + other + " events"), y: parse("0")}}
	}
	x := newExecution(threads, c.Initial, locals, formulas)
	violations := map[string][]int{}
	for i := range c.Events {
		a := &c.Events[i]
		// A local variable of each thread has the number of its last event.
		x.locals[a.Thread][slices.Index(x.world.locals, [2]string{a.Thread, "events"})] = uint64(i + 1)
		x.do(i, a)
		checkKnowledge(t, c, x, i)
	}
	for name := range c.Property.Formulas {
		got := []bool{}
		for i := range c.Events {
			if v, ok := x.verdicts[name][i]; ok {
				got = append(got, v)
				if !v {
					violations[name] = append(violations[name], i+1)
				}
			}
		}
		want := []bool{}
		for _, v := range c.Expect.Verdicts[name] {
			want = append(want, v.Verdict)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(c.Expect.Violations[name], append([]int{}, violations[name]...)); diff != "" {
			t.Errorf("violations of %s: %s", name, diff)
		}
	}
}

// checkKnowledge compares what the thread of the i-th event knows after it.
func checkKnowledge(t *testing.T, c *testCase, x *execution, i int) {
	of := x.monitor.declared[x.world.number(c.Events[i].Thread)]
	for _, r := range x.monitor.remotes {
		name := x.world.threads[r.key.body.Thread]
		if len(r.key.body.Inputs) != 1 || r.key.body.Inputs[0].Kind != Local || x.world.locals[r.key.body.Inputs[0].Index][1] != "events" {
			continue
		}
		got := r.initial
		if e, ok := x.monitor.known(of, r); ok {
			got = e.value
		}
		if want := c.Expect.Knowledge[i].Latest[name]; int(got) != want {
			t.Errorf("after event %d: the latest event of %s known is %d, want %d", i+1, name, got, want)
		}
	}
	if len(c.Expect.Variables) == 0 {
		return
	}
	for name, want := range c.Expect.Variables[i].Seq {
		e := of.vector.at(slices.Index(x.world.variables, name))
		if value := c.Expect.Variables[i].Value[name]; e.seq != want || e.seq > 0 && number(e.value) != value {
			t.Errorf("after event %d: %s is %d after %d writes, want %d after %d", i+1, name, e.value, e.seq, value, want)
		}
	}
}
