package typestate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/typestate"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// aCase is a worked example, with outcomes by brute force.
type aCase struct {
	Events []struct {
		Thread, Op, Object, Method string
	}
	Property struct {
		Typestate struct {
			Type string
			DFA  struct {
				Start string
				Edges map[string]map[string]string
			}
		}
	}
	Expect struct {
		ObservedViolates bool     `json:"observed_violates"`
		MessagesOnly     outcomes `json:"messages_only"`
		LocksRespected   outcomes `json:"locks_respected"`
		LocksInOrder     outcomes `json:"locks_in_observed_order"`
		ObjectRaces      [][2]int `json:"object_races"`
		Selected         bool     `json:"selected_by_stage_1"`
	}
}

// outcomes counts the orders of calls that break the protocol.
type outcomes struct{ Interleavings, Violating int }

func readCase(t *testing.T, path string) *aCase {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &aCase{}
	if err := json.Unmarshal(text, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// protocol returns the protocol of a case, and its calls by name.
func (c *aCase) protocol() (typestate.Protocol, map[string]int) {
	dfa := c.Property.Typestate.DFA
	p := typestate.Protocol{Name: "p", Type: c.Property.Typestate.Type, BornAtFirstUse: true}
	states, calls := map[string]int{dfa.Start: 0}, map[string]int{}
	names := []string{dfa.Start}
	for s, edges := range dfa.Edges {
		if s != dfa.Start {
			states[s] = len(names)
			names = append(names, s)
		}
		for call := range edges {
			calls[call] = 0
		}
	}
	for i := range c.Events {
		if c.Events[i].Op == "call" {
			calls[c.Events[i].Method] = 0
		}
	}
	for call := range calls {
		calls[call] = len(p.Calls)
		p.Calls = append(p.Calls, typestate.Call{Name: call})
	}
	for _, name := range names {
		s := typestate.State{Name: name, Next: make([][]int, len(calls))}
		for call, to := range dfa.Edges[name] {
			s.Next[calls[call]] = []int{states[to]}
		}
		p.States = append(p.States, s)
	}
	return p, calls
}

// ids numbers names from 1.
type ids map[string]uint32

func (n ids) of(name string) uint32 {
	if n[name] == 0 {
		n[name] = uint32(len(n) + 1)
	}
	return n[name]
}

var operations = map[string]event.Op{
	"call": event.Call, "fork": event.Fork, "begin": event.Begin, "end": event.End, "join": event.Join, "acquire": event.Acquire,
	"release": event.Release, "notify": event.SemPost, "wait": event.SemWait, "send": event.SemPost, "receive": event.SemWait,
}

// events returns the events of a case. A call has its object in Value, and its index in Func, from 1.
func (c *aCase) events(t *testing.T, calls map[string]int, locks bool) (out []event.Event) {
	t.Helper()
	threads, objects := ids{}, ids{}
	for i := range c.Events {
		x := &c.Events[i]
		op, known := operations[x.Op]
		if !known {
			t.Fatalf("operation %s", x.Op)
		}
		if !locks && (op == event.Acquire || op == event.Release) {
			continue
		}
		e := event.Event{Seq: uint64(len(out) + 1), Op: op, Thread: event.ThreadID(threads.of(x.Thread))}
		switch op {
		case event.Call:
			e.Func, e.Value = event.FuncID(calls[x.Method]+1), uint64(objects.of(x.Object))
		case event.Fork, event.Join:
			e.Peer = event.ThreadID(threads.of(x.Object))
		case event.Acquire, event.Release:
			e.Object, e.Kind = event.ObjectID(objects.of(x.Object)), event.KindMutex
		case event.SemPost, event.SemWait:
			e.Object, e.Kind = event.ObjectID(objects.of(x.Object)), event.KindSemaphore
			e.Flags, e.Value = event.HasValue, 0
		}
		out = append(out, e)
	}
	return out
}

// whole is a History that keeps all, and takes each witness for a schedule.
type whole []event.Event

func (h whole) Step(seq uint64) (finding.Step, bool) {
	i := slices.IndexFunc(h, func(e event.Event) bool { return e.Seq == seq })
	if i < 0 {
		return finding.Step{}, false
	}
	return finding.StepOf(&h[i]), true
}

func (h whole) Execution(w *lattice.Witness, relevant func(uint64) bool) (steps []finding.Step, err error) {
	for _, s := range w.Steps {
		x, ok := h.Step(s.Seq)
		if !ok || !relevant(s.Seq) {
			return nil, fmt.Errorf("no event %d", s.Seq)
		}
		steps = append(steps, x)
	}
	return steps, nil
}

// check runs an analysis over the events of a case. With look, it looks at the objects after each.
func check(p typestate.Protocol, events []event.Event, exclusion, look bool) (*typestate.Analysis, []finding.Finding) {
	order := finding.OrderSync
	if exclusion {
		order = finding.OrderExclusion
	}
	a := typestate.New(typestate.Options{
		Protocols: []typestate.Protocol{p}, Order: order, History: whole(events),
		Uses: func(e *event.Event, yield func(protocol, call int, object uint64)) { yield(0, int(e.Func)-1, e.Value) },
	})
	for i := range events {
		e := events[i]
		a.Event(&e)
		if look {
			a.Look()
		}
	}
	return a, a.Finish()
}

// TestMessages: with locks in the run, order messages finds what no order of locks forbids.
func TestMessages(t *testing.T) {
	paths, _ := filepath.Glob("testdata/*.json")
	for _, path := range paths {
		c := readCase(t, path)
		p, calls := c.protocol()
		events := c.events(t, calls, true)
		a := typestate.New(typestate.Options{
			Protocols: []typestate.Protocol{p}, Order: finding.OrderMessages, History: whole(events),
			Uses: func(e *event.Event, yield func(protocol, call int, object uint64)) { yield(0, int(e.Func)-1, e.Value) },
		})
		for i := range events {
			e := events[i]
			a.Event(&e)
		}
		found := a.Finish()
		if (len(found) > 0) != (c.Expect.MessagesOnly.Violating > 0) {
			t.Errorf("%s: %d findings, %d orders of calls break the protocol", filepath.Base(path), len(found), c.Expect.MessagesOnly.Violating)
		}
	}
}

// TestCases compares with all orders of the calls, for each causality.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) < 15 {
		t.Fatalf("%d cases: %v", len(paths), err)
	}
	for _, path := range paths {
		c := readCase(t, path)
		p, calls := c.protocol()
		modes := map[string]struct {
			want             outcomes
			locks, exclusion bool
		}{"messages": {c.Expect.MessagesOnly, false, false}}
		if c.Expect.LocksRespected.Interleavings > 0 {
			modes["exclusion"] = struct {
				want             outcomes
				locks, exclusion bool
			}{c.Expect.LocksRespected, true, true}
			modes["sync"] = struct {
				want             outcomes
				locks, exclusion bool
			}{c.Expect.LocksInOrder, true, false}
		}
		for mode, m := range modes {
			t.Run(filepath.Base(path)+" "+mode, func(t *testing.T) {
				_, found := check(p, c.events(t, calls, m.locks), m.exclusion, false)
				checkFound(t, found, c.Expect.ObservedViolates, m.want.Violating > 0)
			})
		}
	}
}

func checkFound(t *testing.T, found []finding.Finding, observed, any bool) {
	t.Helper()
	if any != (len(found) > 0) {
		t.Errorf("%d findings, want some: %v: %+v", len(found), any, found)
	}
	isObserved := slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Confidence == finding.Observed })
	if isObserved != observed {
		t.Errorf("observed: %v, want %v", isObserved, observed)
	}
	for i := range found {
		if f := &found[i]; f.Confidence == finding.Potential || len(f.Evidence) == 0 || len(f.Threads) == 0 || f.Message == "" || len(f.Witness) == 0 {
			t.Errorf("%+v", f)
		}
		checkGraph(t, &found[i])
	}
}

// checkGraph checks that the calls of a finding lead through its protocol to where it is broken, and that steps have the
// states around them.
func checkGraph(t *testing.T, f *finding.Finding) {
	t.Helper()
	g := f.Graph
	if g == nil || !g.Automaton {
		t.Errorf("the protocol is missing: %+v", g)
		return
	}
	last := f.Witness[len(f.Witness)-1]
	if len(last.Before) == 0 || len(last.After) > 0 {
		t.Errorf("the last step leads from %q to %q", last.Before, last.After)
	}
	bad := len(g.Nodes) - 1
	if !g.Nodes[bad].Bad || !slices.ContainsFunc(g.Edges, func(e finding.Edge) bool {
		return e.To == bad && e.Witness && slices.Equal(e.Calls, []string{last.Use}) && slices.Contains(last.Before, g.Nodes[e.From].Name)
	}) {
		t.Errorf("no call %s breaks the protocol in %q: %+v", last.Use, last.Before, g)
	}
	for i := range f.Witness[:len(f.Witness)-1] {
		if s := &f.Witness[i]; s.Use != "" && (len(s.After) == 0 || !slices.ContainsFunc(g.Edges, func(e finding.Edge) bool {
			return e.Witness && slices.Contains(e.Calls, s.Use) && slices.Contains(s.Before, g.Nodes[e.From].Name) && slices.Contains(s.After, g.Nodes[e.To].Name)
		})) {
			t.Errorf("%s leads from %q to %q, which is no edge of the witness: %+v", s.Use, s.Before, s.After, g)
		}
	}
}

// TestGraphIsBounded: of a protocol with many states, those that matter are there.
func TestGraphIsBounded(t *testing.T) {
	const states = 100
	p := typestate.Protocol{Name: "p", BornAtFirstUse: true, Calls: []typestate.Call{{Name: "step"}, {Name: "back"}}}
	for i := range states {
		next := [][]int{{i + 1}, nil}
		if i == states-1 {
			next = [][]int{nil, nil}
		}
		p.States = append(p.States, typestate.State{Name: fmt.Sprint("s", i), Next: next})
	}
	var events []event.Event
	for i := range 60 {
		events = append(events, event.Event{Seq: uint64(i + 1), Op: event.Call, Thread: 1, Func: 1, Value: 7})
	}
	events = append(events, event.Event{Seq: 61, Op: event.Call, Thread: 1, Func: 2, Value: 7})
	_, found := check(p, events, false, false)
	if len(found) != 1 {
		t.Fatalf("%d findings", len(found))
	}
	g := found[0].Graph
	left := 0
	for _, n := range g.More {
		left += n
	}
	if len(g.Nodes) != finding.MaxNodes+1 || left != states-finding.MaxNodes {
		t.Errorf("%d nodes, and %d are left out", len(g.Nodes), left)
	}
	checkGraph(t, &found[0])
}

// TestProcesses: values of two processes are two objects, whose memory ends by itself.
func TestProcesses(t *testing.T) {
	p := typestate.Protocol{Name: "p", Calls: []typestate.Call{{Name: "open", Creates: true}, {Name: "use"}, {Name: "close"}}, States: []typestate.State{
		{Name: "fresh", Next: [][]int{{1}, nil, nil}}, {Name: "opened", Next: [][]int{nil, {1}, {2}}}, {Name: "closed", Next: [][]int{nil, nil, nil}},
	}}
	const open, use, shut, freed = 1, 2, 3, 0 // as event.Func
	for _, c := range []struct {
		steps [][2]int // thread, each in a process of its own; and call
		want  bool
	}{
		{[][2]int{{1, open}, {2, open}, {2, shut}, {1, use}, {1, shut}}, false},
		{[][2]int{{1, open}, {2, open}, {1, shut}, {2, freed}, {1, use}}, true},
		{[][2]int{{1, open}, {1, shut}, {1, freed}, {1, use}}, false},
	} {
		var events []event.Event
		for i, s := range c.steps {
			e := event.Event{Seq: uint64(i + 1), Op: event.Call, Thread: event.ThreadID(s[0]), Func: event.FuncID(s[1]), Value: 7}
			if s[1] == freed {
				e.Op = event.Destroy
			}
			events = append(events, e)
		}
		a := typestate.New(typestate.Options{
			Protocols: []typestate.Protocol{p}, History: whole(events),
			Uses:    func(e *event.Event, yield func(protocol, call int, object uint64)) { yield(0, int(e.Func)-1, e.Value) },
			Process: func(t event.ThreadID) uint32 { return uint32(t) },
			Ended:   func(e *event.Event) (uint64, bool) { return e.Value, e.Op == event.Destroy },
		})
		for i := range events {
			a.Event(&events[i])
		}
		if found := a.Finish(); (len(found) > 0) != c.want {
			t.Errorf("%v: %d findings, want some: %v", c.steps, len(found), c.want)
		}
	}
}

// TestFreeIsACallOfTheObject: the call that frees the memory of an object, whose event comes behind the end of the memory,
// is a call of the object; one that its state does not allow is of another object.
func TestFreeIsACallOfTheObject(t *testing.T) {
	p := typestate.Protocol{Name: "p", Calls: []typestate.Call{{Name: "make", Creates: true}, {Name: "use"}, {Name: "free"}}, States: []typestate.State{
		{Name: "fresh", Next: [][]int{{1}, nil, nil}}, {Name: "live", Next: [][]int{nil, {1}, {2}}}, {Name: "freed", Next: [][]int{nil, nil, nil}},
	}}
	const ended, make, use, free, fork = 0, 1, 2, 3, 4 // as event.Func
	for _, c := range []struct {
		name  string
		steps [][2]int // thread and call
		want  bool
	}{
		{"predicted", [][2]int{{1, make}, {1, fork}, {2, use}, {1, ended}, {1, free}}, true},
		{"and made again", [][2]int{{1, make}, {1, fork}, {2, use}, {1, ended}, {1, free}, {1, make}, {1, use}}, true},
		{"made again, unseen", [][2]int{{1, make}, {1, use}, {1, free}, {1, ended}, {1, use}}, false},
		{"made again at once", [][2]int{{1, make}, {1, use}, {1, free}, {1, ended}, {1, make}, {1, use}, {1, ended}, {1, free}}, false},
		{"by another thread", [][2]int{{1, make}, {1, fork}, {1, ended}, {1, free}, {2, make}, {2, use}, {2, ended}, {2, free}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events []event.Event
			for i, s := range c.steps {
				e := event.Event{Seq: uint64(i + 1), Op: event.Call, Thread: event.ThreadID(s[0]), Func: event.FuncID(s[1]), Value: 7}
				switch s[1] {
				case ended:
					e.Op = event.Destroy
				case fork:
					e.Op, e.Peer = event.Fork, 2
				}
				events = append(events, e)
			}
			a := typestate.New(typestate.Options{
				Protocols: []typestate.Protocol{p}, History: whole(events),
				Uses:  func(e *event.Event, yield func(protocol, call int, object uint64)) { yield(0, int(e.Func)-1, e.Value) },
				Ended: func(e *event.Event) (uint64, bool) { return e.Value, e.Op == event.Destroy },
			})
			for i := range events {
				a.Event(&events[i])
			}
			if found := a.Finish(); (len(found) > 0) != c.want {
				t.Errorf("%d findings, want some: %v: %+v", len(found), c.want, found)
			}
		})
	}
}

// TestReborn: with RebornAtNextUse a call behind the end of an object is of another object, whether or not it is ordered
// with the end; one before the end may come behind it.
func TestReborn(t *testing.T) {
	const make, use, shut, fork = 1, 2, 3, 4 // as event.Func
	for _, c := range []struct {
		name           string
		steps          [][2]int // thread and call
		reborn, always bool     // findings with the mark, and without
	}{
		{"used behind the end", [][2]int{{1, make}, {1, shut}, {1, use}, {1, shut}}, false, true},
		{"by a thread that nothing orders", [][2]int{{1, make}, {1, fork}, {1, shut}, {2, use}}, false, true},
		{"used before the end", [][2]int{{1, make}, {1, fork}, {2, use}, {1, shut}}, true, true},
		{"and again behind it", [][2]int{{1, make}, {1, fork}, {2, use}, {1, shut}, {2, use}}, true, true},
		{"of the other object", [][2]int{{1, make}, {1, fork}, {1, shut}, {1, use}, {2, use}, {1, shut}}, true, true},
		{"ended twice", [][2]int{{1, make}, {1, shut}, {1, shut}}, false, true},
		{"made twice", [][2]int{{1, make}, {1, shut}, {1, make}, {1, shut}}, false, false},
	} {
		for _, reborn := range []bool{false, true} {
			p := typestate.Protocol{Name: "p", RebornAtNextUse: reborn, Calls: []typestate.Call{{Name: "make", Creates: true}, {Name: "use"}, {Name: "shut"}}, States: []typestate.State{
				{Name: "fresh", Next: [][]int{{1}, nil, nil}}, {Name: "open", Next: [][]int{nil, {1}, {2}}}, {Name: "closed", Next: [][]int{nil, nil, nil}},
			}}
			var events []event.Event
			for i, s := range c.steps {
				e := event.Event{Seq: uint64(i + 1), Op: event.Call, Thread: event.ThreadID(s[0]), Func: event.FuncID(s[1]), Value: 7}
				if s[1] == fork {
					e.Op, e.Peer = event.Fork, 2
				}
				events = append(events, e)
			}
			want := c.always
			if reborn {
				want = c.reborn
			}
			_, found := check(p, events, false, false)
			if (len(found) > 0) != want {
				t.Errorf("%s, reborn %v: %d findings, want some: %v: %+v", c.name, reborn, len(found), want, found)
			}
			for _, f := range found {
				if reborn && f.Confidence == finding.Observed {
					t.Errorf("%s: this run breaks it: %+v", c.name, f)
				}
			}
		}
	}
}
