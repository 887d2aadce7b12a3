package lattice_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// message is a relevant event as the paper's observer receives it: its thread, as an index in
// clocks, its clock, and the variable and value that it wrote.
type message struct {
	id       string
	thread   int
	clock    []uint32 // by thread
	variable int
	value    uint64
}

// messagesOf returns the messages that Algorithm A sends for an execution.
func messagesOf(x *eventtest.Execution) []message {
	var out []message
	clocks := causality.New()
	var threads eventtest.ThreadClocks
	var raw []causality.Clock
	for i := range x.Events {
		e := &x.Events[i]
		s, v := clocks.Stamp(e, x.IDs[i] != "")
		if x.IDs[i] == "" {
			continue
		}
		threads.Add(e.Thread, s, v[s])
		raw = append(raw, slices.Clone(v))
		out = append(out, message{id: x.IDs[i], thread: slices.Index(x.Threads, e.Thread), variable: slices.Index(x.Objects, e.Object), value: e.Value})
	}
	for i := range out {
		out[i].clock = threads.ByThread(raw[i], x.Threads)
	}
	return out
}

// precedes reports whether a message comes before another, by Theorem 1.
func (m *message) precedes(n *message) bool {
	return m.id != n.id && m.clock[m.thread] <= n.clock[m.thread]
}

// enabledAt reports whether the message may come next after a cut.
func (m *message) enabledAt(cut []uint32) bool {
	for k := range cut {
		if k != m.thread && cut[k] < m.clock[k] || k == m.thread && cut[k]+1 != m.clock[k] {
			return false
		}
	}
	return true
}

// printedCone is Figures 3 and 5 to the letter: the next level is kept when an attempt to
// build it fails; whether it is complete is checked only after a cut was added, and by the
// equality of the length of the queue and l; once it has w cuts, no further path into them is
// followed; and useless events are found with the old level.
type printedCone struct {
	width, length int
	props         []lattice.Property
	names         []string
	levels        [][]paperCut
	next          []paperCut
	queue         []message
	log           []wantedEntry
	bad           map[string][][]uint32
}

type paperCut struct {
	at     []uint32
	values []uint64
	states [][]uint32 // by property
}

type wantedEntry struct {
	Level   int
	Cuts    [][]uint32
	Queue   []string
	Removed []string
}

func newPrintedCone(x *eventtest.Execution, width, length int, names []string, props []lattice.Property) *printedCone {
	c := &printedCone{width: width, length: length, props: props, names: names, bad: map[string][][]uint32{}}
	first := paperCut{at: make([]uint32, len(x.Threads))}
	for _, v := range x.Initial {
		first.values = append(first.values, uint64(v))
	}
	for _, p := range props {
		states := p.Monitor.Start(nil)
		first.states = append(first.states, stepAll(&p, states, first.values))
	}
	c.levels = [][]paperCut{{first}}
	c.note(&first)
	return c
}

// stepAll returns the states that follow from a set of states, at a cut with these values.
func stepAll(p *lattice.Property, states []uint32, values []uint64) []uint32 {
	var out []uint32
	for _, s := range states {
		out = p.Monitor.Step(out, s, p.Labels.Letter(values, 0))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// note records a cut at which a property is violated.
func (c *printedCone) note(cut *paperCut) {
	for p, states := range cut.states {
		known := slices.ContainsFunc(c.bad[c.names[p]], func(at []uint32) bool { return slices.Equal(at, cut.at) })
		if !known && slices.ContainsFunc(states, c.props[p].Monitor.Bad) {
			c.bad[c.names[p]] = append(c.bad[c.names[p]], slices.Clone(cut.at))
		}
	}
}

// message adds a message to the queue, and builds the levels that it completes.
func (c *printedCone) message(m message) {
	c.queue = append(c.queue, m)
	for c.construct() {
	}
}

// construct tries to build the next level, and reports whether it did.
func (c *printedCone) construct() bool {
	before := c.ids(c.queue)
	for i := range c.queue {
		m := &c.queue[i]
		for _, cut := range c.levels[len(c.levels)-1] {
			if !m.enabledAt(cut.at) {
				continue
			}
			c.add(&cut, m)
			if c.width > 0 && len(c.next) >= c.width || i == len(c.queue)-1 && len(c.queue) == c.length {
				entry := wantedEntry{Level: len(c.levels), Queue: before, Removed: c.useless()}
				for _, n := range c.next {
					entry.Cuts = append(entry.Cuts, n.at)
				}
				c.log = append(c.log, entry)
				c.levels, c.next = append(c.levels, c.next), nil
				return true
			}
		}
	}
	return false
}

// add adds the cut that follows from another one by a message to the next level.
func (c *printedCone) add(from *paperCut, m *message) {
	to := paperCut{at: slices.Clone(from.at), values: slices.Clone(from.values)}
	to.at[m.thread]++
	if m.variable >= 0 {
		to.values[m.variable] = m.value
	}
	for p := range c.props {
		to.states = append(to.states, stepAll(&c.props[p], from.states[p], to.values))
	}
	at := slices.IndexFunc(c.next, func(n paperCut) bool { return slices.Equal(n.at, to.at) })
	if at < 0 {
		at = len(c.next)
		c.next = append(c.next, to)
	} else {
		for p := range c.props {
			all := append(c.next[at].states[p], to.states[p]...)
			slices.Sort(all)
			c.next[at].states[p] = slices.Compact(all)
		}
	}
	c.note(&c.next[at])
}

// useless removes the events that every cut of the old level has.
func (c *printedCone) useless() []string {
	old := c.levels[len(c.levels)-1]
	low := slices.Clone(old[0].at)
	for _, cut := range old {
		for k := range low {
			low[k] = min(low[k], cut.at[k])
		}
	}
	below := func(m message) bool {
		for k := range low {
			if m.clock[k] > low[k] {
				return false
			}
		}
		return true
	}
	var gone []message
	for _, m := range c.queue {
		if below(m) {
			gone = append(gone, m)
		}
	}
	c.queue = slices.DeleteFunc(c.queue, below)
	return c.ids(gone)
}

func (c *printedCone) ids(ms []message) []string {
	out := []string{}
	for _, m := range ms {
		out = append(out, m.id)
	}
	return out
}

// TestConesAsPrinted: the figures' rule has the results that the cases state. That is why the
// rule of this package differs from it.
func TestConesAsPrinted(t *testing.T) {
	windows, stuck, lost := 0, 0, 0
	for name, xs := range eventtest.Executions(t, "testdata/jmpax/cone_*.json") {
		x := &xs[0]
		names, props := propertiesOf(t, x)
		for _, w := range windowsOf(t, x) {
			if w.Rule != "printed" {
				continue
			}
			windows++
			t.Run(fmt.Sprintf("%s w=%d l=%d", name, w.W, w.L), func(t *testing.T) {
				c := newPrintedCone(x, w.W, w.L, names, props)
				all := messagesOf(x)
				for _, m := range all {
					c.message(m)
				}
				if len(c.levels)-1 != w.LevelsBuilt || len(c.levels)-1 != len(c.log) {
					t.Errorf("%d levels, %d logged, want %d", len(c.levels)-1, len(c.log), w.LevelsBuilt)
				}
				for i, want := range w.Log {
					if diff := cmp.Diff(wantedEntry(want), c.log[i]); diff != "" {
						t.Errorf("level %d: %s", want.Level, diff)
					}
				}
				if diff := cmp.Diff(w.Left, c.ids(c.queue)); diff != "" {
					t.Errorf("left in the queue: %s", diff)
				}
				checkBad(t, w.BadAt, c.bad)
				var levels [][][]uint32
				for _, level := range c.levels {
					var at [][]uint32
					for _, cut := range level {
						at = append(at, cut.at)
					}
					levels = append(levels, at)
				}
				checkPaths(t, &w, all, levels)
				if w.LevelsBuilt < len(all) {
					stuck++
				}
				if !w.ObservedInside {
					lost++
				}
			})
		}
	}
	if windows < 10 || stuck == 0 || lost == 0 {
		t.Errorf("%d windows, %d stuck, %d lose the observed run", windows, stuck, lost)
	}
}

// checkPaths checks that the runs inside the levels, and the cuts that are not in them, are those
// of the case.
func checkPaths(t *testing.T, want *wantedWindow, all []message, levels [][][]uint32) {
	t.Helper()
	has := func(n int, cut []uint32) bool {
		return n < len(levels) && slices.ContainsFunc(levels[n], func(c []uint32) bool { return slices.Equal(c, cut) })
	}
	inside, observed, named := 0, true, false
	var missing [][]uint32
	eachRun(all, func(run []int) {
		path, whole := pathOf(all, run), len(levels) == len(all)+1
		for n, cut := range path {
			known := slices.ContainsFunc(missing, func(c []uint32) bool { return slices.Equal(c, cut) })
			if !has(n, cut) {
				if whole = false; !known {
					missing = append(missing, cut)
				}
			}
		}
		if whole {
			inside++
		}
		if slices.IsSorted(run) {
			observed = whole
		}
		if whole && slices.EqualFunc(path, want.Pruned, slices.Equal) {
			named = true
		}
	})
	if inside != want.RunsInside || observed != want.ObservedInside || named {
		t.Errorf("%d runs inside, the observed one %v, the named one %v; want %d, %v", inside, observed, named, want.RunsInside, want.ObservedInside)
	}
	sortCuts(missing)
	sortCuts(want.NotBuilt)
	if diff := cmp.Diff(want.NotBuilt, missing); diff != "" && len(want.NotBuilt)+len(missing) > 0 {
		t.Errorf("cuts not built: %s", diff)
	}
}

// eachRun calls f with every order of the messages that causality allows, in lexical order.
func eachRun(all []message, f func(run []int)) {
	var run []int
	var step func()
	step = func() {
		if len(run) == len(all) {
			f(run)
			return
		}
		for i := range all {
			ready := !slices.Contains(run, i)
			for j := range all {
				ready = ready && (slices.Contains(run, j) || !all[j].precedes(&all[i]))
			}
			if ready {
				run = append(run, i)
				step()
				run = run[:len(run)-1]
			}
		}
	}
	step()
}

// pathOf returns the cuts that a run passes.
func pathOf(all []message, run []int) [][]uint32 {
	cut := make([]uint32, 0)
	if len(all) > 0 {
		cut = make([]uint32, len(all[0].clock))
	}
	path := [][]uint32{slices.Clone(cut)}
	for _, i := range run {
		cut[all[i].thread]++
		path = append(path, slices.Clone(cut))
	}
	return path
}

// TestRunsOfTheCases: from the messages alone, in whatever order they are delivered, the
// order, the runs and those that violate a property are the cases'.
func TestRunsOfTheCases(t *testing.T) {
	type wantedRuns struct {
		Expect struct {
			Order      [][2]string
			RunCount   int `json:"run_count"`
			Runs       [][]string
			Properties map[string]struct {
				Count int        `json:"violating_run_count"`
				Runs  [][]string `json:"violating_runs"`
			}
		}
	}
	counted, variants := 0, 0
	for name, xs := range eventtest.Executions(t, "testdata/jmpax/*.json") {
		if len(xs) > 1 || strings.HasPrefix(name, "cone_") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			x := &xs[0]
			var want wantedRuns
			if err := json.Unmarshal(x.Case.Expect, &want); err != nil {
				t.Fatal(err)
			}
			all := messagesOf(x)
			checkOrder(t, all, want.Expect.Order)
			names, props := propertiesOf(t, x)
			bad := make([][][]string, len(props))
			n := 0
			eachRun(all, func(run []int) {
				ids := []string{}
				for _, i := range run {
					ids = append(ids, all[i].id)
				}
				if n < len(want.Expect.Runs) && !slices.Equal(ids, want.Expect.Runs[n]) {
					t.Errorf("run %d: %v, want %v", n, ids, want.Expect.Runs[n])
				}
				n++
				for p := range props {
					if violates(x, &props[p], all, run) {
						bad[p] = append(bad[p], ids)
					}
				}
			})
			if n != want.Expect.RunCount {
				t.Errorf("%d runs, want %d", n, want.Expect.RunCount)
			}
			for p, name := range names {
				w := want.Expect.Properties[name]
				if len(bad[p]) != w.Count || len(w.Runs) == w.Count && !cmp.Equal(bad[p], w.Runs) && w.Count > 0 {
					t.Errorf("%s: %d runs violate it: %v, want %d: %v", name, len(bad[p]), bad[p], w.Count, w.Runs)
				}
			}
			counted++
			for i := range x.Variants {
				variants += checkRunCount(t, &x.Variants[i])
			}
		})
	}
	if counted < 20 || variants < 5 {
		t.Errorf("%d cases, %d variants", counted, variants)
	}
}

func checkRunCount(t *testing.T, v *eventtest.Variant) int {
	t.Helper()
	var want struct {
		RunCount *int `json:"run_count"`
	}
	if err := json.Unmarshal(v.Expect, &want); err != nil {
		t.Fatal(err)
	}
	if want.RunCount == nil || v.ReadClock != "write" {
		return 0
	}
	n := 0
	eachRun(messagesOf(&v.Execution), func([]int) { n++ })
	if n != *want.RunCount {
		t.Errorf("%s: %d runs, want %d", v.Label, n, *want.RunCount)
	}
	return 1
}

// checkOrder checks the pairs that causality orders, whatever the order of delivery.
func checkOrder(t *testing.T, all []message, want [][2]string) {
	t.Helper()
	for turn := range all {
		delivered := append(slices.Clone(all[turn:]), all[:turn]...)
		if turn%2 == 1 {
			slices.Reverse(delivered)
		}
		got := map[[2]string]bool{}
		for i := range delivered {
			for j := range delivered {
				if delivered[i].precedes(&delivered[j]) {
					got[[2]string{delivered[i].id, delivered[j].id}] = true
				}
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d pairs, want %d", len(got), len(want))
		}
		for _, p := range want {
			if !got[p] {
				t.Errorf("%s is not before %s", p[0], p[1])
			}
		}
	}
}

// violates reports whether a run violates a property, by the plain monitor.
func violates(x *eventtest.Execution, p *lattice.Property, all []message, run []int) bool {
	var values []uint64
	for _, v := range x.Initial {
		values = append(values, uint64(v))
	}
	states := stepAll(p, p.Monitor.Start(nil), values)
	bad := slices.ContainsFunc(states, p.Monitor.Bad)
	for _, i := range run {
		if all[i].variable >= 0 {
			values[all[i].variable] = all[i].value
		}
		states = stepAll(p, states, values)
		bad = bad || slices.ContainsFunc(states, p.Monitor.Bad)
	}
	return bad
}
