package depend

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

type wantThread struct {
	Ancestor string   `json:"ancestor"`
	Reads    []string `json:"reads"`
	Writes   []string `json:"writes"`
}

type wantCase struct {
	Graph   map[string]wantThread `json:"dependency_graph"`
	Windows []struct {
		Window   []string `json:"window"`
		Extended []string `json:"extended"`
	} `json:"windows"`
	Explored []struct {
		Only   []string `json:"only"`
		CanEnd bool     `json:"can_end"`
	} `json:"explored"`
	CanEnd bool              `json:"can_end"`
	Stuck  []json.RawMessage `json:"stuck"`
}

func readCases(t *testing.T) map[string]*eventtest.Case {
	t.Helper()
	cases := map[string]*eventtest.Case{}
	for _, c := range eventtest.Cases(t, "testdata/cases/*.json") {
		cases[c.Name] = c
	}
	return cases
}

func expectation(t *testing.T, c *eventtest.Case) (w wantCase) {
	t.Helper()
	if err := json.Unmarshal(c.Expect, &w); err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return w
}

// graphOf returns the graph of a case, in which the fields of an object are one object, as in
// the paper. Unless signals and locks are requested, it has none, as in Figure 11.
func graphOf(c *eventtest.Case, synchronising bool) (*Graph, map[event.ObjectID]string) {
	whole, names := map[string]event.ObjectID{}, map[event.ObjectID]string{}
	g := New(Options{})
	for _, e := range c.Events {
		if e.Op.IsAccess() {
			name, _, _ := strings.Cut(c.Names.Objects[e.Object], ".")
			if whole[name] == 0 {
				whole[name] = e.Object
			}
			e.Object = whole[name]
			names[e.Object] = name
		} else if e.Object != 0 && !synchronising {
			continue
		}
		g.Event(&e)
	}
	return g, names
}

// window returns the names of the threads of the extended window, sorted.
func window(g *Graph, c *eventtest.Case, of []string) []string {
	var ids []event.ThreadID
	for _, name := range of {
		ids = append(ids, c.Names.Thread(name))
	}
	out := slices.Clone(of)
	for _, d := range g.Extend(ids) {
		if d.How != finding.Contends {
			out = append(out, c.Names.Threads[d.Thread])
		}
	}
	slices.Sort(out)
	return out
}

// TestFigure11: the graph and the windows of the paper, without signals.
func TestFigure11(t *testing.T) {
	checked := 0
	for name, c := range readCases(t) {
		w := expectation(t, c)
		g, objects := graphOf(c, false)
		for _, x := range w.Windows {
			checked++
			if diff := cmp.Diff(append([]string{}, x.Extended...), append([]string{}, window(g, c, x.Window)...)); diff != "" {
				t.Errorf("%s, window %v (-want +got):\n%s", name, x.Window, diff)
			}
		}
		for thread, x := range w.Graph {
			if diff := cmp.Diff(x, describe(g, g.threads[c.Names.Thread(thread)], objects, c.Names)); diff != "" {
				t.Errorf("%s, thread %s (-want +got):\n%s", name, thread, diff)
			}
		}
	}
	if checked < 15 {
		t.Errorf("%d windows", checked)
	}
}

func describe(g *Graph, th *thread, objects map[event.ObjectID]string, names *eventtest.Names) wantThread {
	w := wantThread{Ancestor: "topmost", Reads: []string{}, Writes: []string{}}
	if th.created.op == event.Fork {
		w.Ancestor = names.Threads[th.created.thread]
	}
	for object, u := range th.uses {
		if u.roles&reads != 0 {
			w.Reads = append(w.Reads, objects[object])
		}
		if u.roles&writes != 0 {
			w.Writes = append(w.Writes, objects[object])
		}
	}
	slices.Sort(w.Reads)
	slices.Sort(w.Writes)
	return w
}

// TestWindowsThatCanEnd: with signals the window contains the threads for which its threads wait.
// If the program restricted to the paper's window can never end and the whole program can, the
// window is larger than the paper's.
func TestWindowsThatCanEnd(t *testing.T) {
	cases := readCases(t)
	for name, tc := range map[string]struct {
		window, want []string
		how          map[string]finding.Influence
	}{
		"signaller_left_outside":       {[]string{"W"}, []string{"M", "N", "W"}, map[string]finding.Influence{"M": finding.Creates, "N": finding.Signals}},
		"lock_user_left_outside":       {[]string{"A"}, []string{"A", "M"}, map[string]finding.Influence{"M": finding.Creates, "B": finding.Contends}},
		"sec41_value_with_environment": {[]string{"Task1", "Task2"}, []string{"Main", "Task1", "Task2"}, map[string]finding.Influence{"Main": finding.Creates}},
		"rax_planner_executive":        {[]string{"Executive", "Planner"}, []string{"Executive", "Main", "Planner"}, map[string]finding.Influence{"Main": finding.Creates}},
		"missed_signal_smallest":       {[]string{"W"}, []string{"S", "W"}, map[string]finding.Influence{"S": finding.Signals}},
		"conditional_wait_done_right":  {[]string{"W"}, []string{"S", "W"}, map[string]finding.Influence{"S": finding.Writes}},
	} {
		c := cases[name]
		if c == nil {
			t.Errorf("there is no case %s", name)
			continue
		}
		g, _ := graphOf(c, true)
		if diff := cmp.Diff(tc.want, window(g, c, tc.window)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		got := map[string]finding.Influence{}
		var ids []event.ThreadID
		for _, n := range tc.window {
			ids = append(ids, c.Names.Thread(n))
		}
		for _, d := range g.Extend(ids) {
			got[c.Names.Threads[d.Thread]] = d.How
		}
		if diff := cmp.Diff(tc.how, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, x := range expectation(t, c).Explored {
			if slices.Equal(x.Only, tc.want) && name == "signaller_left_outside" && !x.CanEnd {
				t.Errorf("%s: the window %v can never end", name, x.Only)
			}
		}
	}
}

// TestBounds: if not all threads and uses fit, the graph is partial, and what it has is right.
func TestBounds(t *testing.T) {
	g := New(Options{MaxUses: 4})
	for i := range 10 {
		g.Event(&event.Event{Seq: uint64(i + 1), Thread: 1, Op: event.Fork, Peer: event.ThreadID(i + 2)})
	}
	if !g.Partial() || len(g.threads) != 4 {
		t.Errorf("partial %t, %d threads", g.Partial(), len(g.threads))
	}
	if got := fmt.Sprint(len(g.Extend([]event.ThreadID{2})), len(g.Extend([]event.ThreadID{9}))); got != "1 0" {
		t.Errorf("%s dependencies", got)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	g := New(Options{})
	events := []event.Event{
		{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 2, Op: event.Acquire, Object: 1}, {Thread: 2, Op: event.Update, Object: 17},
		{Thread: 2, Op: event.Signal, Object: 33}, {Thread: 2, Op: event.Release, Object: 1}, {Thread: 1, Op: event.Wake, Object: 33},
	}
	if n := testing.AllocsPerRun(100, func() {
		for i := range events {
			g.Event(&events[i])
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestShrink checks that the later objects and threads stay, and that the graph says that it is partial.
func TestShrink(t *testing.T) {
	g := New(Options{MaxUses: 1 << 15})
	const objects = 1 << 13
	for i := range event.ObjectID(objects) {
		g.Event(&event.Event{Op: event.Write, Thread: 1, Object: i + 1})
		g.Event(&event.Event{Op: event.Read, Thread: 2, Object: i + 1})
	}
	g.Event(&event.Event{Op: event.Read, Thread: 3, Object: objects})
	g.Event(&event.Event{Op: event.Read, Thread: 4, Object: 1})
	for g.Shrink() {
	}
	if !g.Partial() {
		t.Error("it is not partial")
	}
	for thread, want := range map[event.ThreadID]int{3: 1, 4: 0} {
		if got := g.Extend([]event.ThreadID{thread}); len(got) != want {
			t.Errorf("T%d depends on %+v", thread, got)
		}
	}
}
