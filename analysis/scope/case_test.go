package scope

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/observer/event"
)

// scopeCase is a worked example of the paper, or an execution around one. What it expects was computed from the
// definitions.
type scopeCase struct {
	Threads  map[string]string `json:"threads"`
	Events   []caseEvent       `json:"events"`
	Property struct {
		Order  []string             `json:"order"`
		Scopes map[string]caseScope `json:"scopes"`
		LTL    []string             `json:"ltl"`
		Word   [][]string           `json:"word"`
	} `json:"property"`
	Expect map[string]json.RawMessage `json:"expect"`

	names []string // of threads; a thread's number is its index + 1
	run   []event.Event
	order order
}

// caseEvent and pattern have the fields of an event by name.
type (
	caseEvent map[string]any
	pattern   map[string]any
)

type caseScope struct {
	Sync    pattern        `json:"sync"`
	NoReset bool           `json:"no_reset"`
	Types   map[string]any `json:"types"`
	Spawn   map[string]string
	Local   []struct {
		Name    string             `json:"name"`
		Type    string             `json:"type"`
		Events  map[string]pattern `json:"events"`
		Formula string             `json:"formula"`
	} `json:"local"`
	State   map[string]struct{ Local, Top string } `json:"state"`
	Formula string                                 `json:"formula"`
}

// expectation is what a case expects of a scope.
type expectation struct {
	Actions        []int                       `json:"synchronising_actions"`
	Refused        [][2]int                    `json:"refused"`
	Regions        map[string][]int            `json:"regions"`
	InNoRegion     []int                       `json:"in_no_region"`
	ObservedRegion [][2]int                    `json:"observed_region"`
	Verdicts       []map[string]map[string]any `json:"local_verdicts"`
	Channel        []map[string]map[string]any `json:"channel"`
	StateNames     []string                    `json:"state_names"`
	States         [][]bool                    `json:"states"`
	After          []string                    `json:"verdict_after_region"`
	WithoutFirst   []string                    `json:"verdict_without_region_0"`
	Messages       *struct{ Opportunistic uint64 }
}

func (p pattern) matches(e caseEvent) bool {
	for k, want := range p {
		if list, ok := want.([]any); ok && k != "value" {
			if !slices.Contains(list, e[k]) {
				return false
			}
		} else if e[k] != want {
			return false
		}
	}
	return true
}

func readCases(t *testing.T) map[string]*scopeCase {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d cases, %v", len(paths), err)
	}
	out := map[string]*scopeCase{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := &scopeCase{}
		if err := json.Unmarshal(text, c); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		c.build()
		out[strings.TrimSuffix(filepath.Base(path), ".json")] = c
	}
	return out
}

var caseOps = map[string]event.Op{
	"acquire": event.Acquire, "release": event.Release, "read": event.Read, "write": event.Write, "call": event.Call, "fork": event.Fork, "join": event.Join,
}

// build makes the run of a case, with its order.
func (c *scopeCase) build() {
	c.names = slices.Sorted(maps.Keys(c.Threads))
	has := func(kind string) bool { return slices.Contains(c.Property.Order, kind) }
	with := edges{locks: has("lock"), forks: has("fork_join"), values: has("rw")}
	objects := map[any]event.ObjectID{}
	for i, x := range c.Events {
		e := event.Event{Seq: uint64(i + 1), Thread: c.thread(x["thread"]), Op: caseOps[fmt.Sprint(x["op"])]}
		switch e.Op {
		case event.Fork, event.Join:
			e.Peer = c.thread(x["object"])
		case event.Call:
		default:
			if objects[x["object"]] == 0 {
				objects[x["object"]] = event.ObjectID(len(objects) + 1)
			}
			e.Object = objects[x["object"]]
		}
		if with.values {
			e.Flags = event.Atomic
		}
		c.run = append(c.run, e)
	}
	c.order = orderOf(c.run, with)
}

func (c *scopeCase) thread(name any) event.ThreadID {
	return event.ThreadID(slices.Index(c.names, fmt.Sprint(name)) + 1)
}

// pool returns the types of the threads, by the whole execution.
func (c *scopeCase) pool(s *caseScope) map[event.ThreadID][]string {
	pool := map[event.ThreadID][]string{}
	for name, types := range s.Types {
		if list, ok := types.([]any); ok {
			for _, typ := range list {
				pool[c.thread(name)] = append(pool[c.thread(name)], fmt.Sprint(typ))
			}
			continue
		}
		pool[c.thread(name)] = []string{fmt.Sprint(types)}
	}
	for _, e := range c.Events {
		if typ, ok := s.Spawn[fmt.Sprint(e["object"])]; ok && e["op"] == "call" {
			pool[c.thread(e["thread"])] = append(pool[c.thread(e["thread"])], typ)
		}
	}
	return pool
}

// formula returns the monitor of a formula over names, by their index as propositions.
func formula(t *testing.T, text string, names []string) *monitor.ThreeValued {
	t.Helper()
	return formulaOf(t, text, names)
}

// formulaOf is formula for tests and benchmarks.
func formulaOf(t testing.TB, text string, names []string) *monitor.ThreeValued {
	t.Helper()
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "event %s = call %s\n", n, n)
	}
	// The first conjunct numbers the propositions.
	s, problems := spec.Parse("formula.tps", b.String()+"property p = (("+strings.Join(names, " || ")+" || true) && ("+text+"))\n")
	if problems.HasErrors() {
		t.Fatalf("%s: %v", text, problems)
	}
	m, err := monitor.FromLTL3(s.Properties[0].Formula, monitor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// scope returns a scope of a case, with the declared events of each event of its run.
func (c *scopeCase) scope(t *testing.T, name string, s *caseScope, stateNames []string) (*Scope, []uint64) {
	t.Helper()
	out := &Scope{Name: name, Sync: 1}
	declared := make([]uint64, len(c.run))
	bit := uint64(1)
	declare := func(p pattern, bit uint64) {
		for i, e := range c.Events {
			if p.matches(e) {
				declared[i] |= bit
			}
		}
	}
	declare(s.Sync, bit)
	pool := c.pool(s)
	types := map[string]int{}
	for _, l := range s.Local {
		if _, ok := types[l.Type]; !ok {
			types[l.Type] = len(out.Types)
			out.Types = append(out.Types, Type{Name: l.Type, Has: func(id event.ThreadID) bool { return slices.Contains(pool[id], l.Type) }})
		}
		local := Local{Name: l.Name, Type: types[l.Type], Across: s.NoReset}
		names := slices.Sorted(maps.Keys(l.Events))
		for _, n := range names {
			bit <<= 1
			declare(l.Events[n], bit)
			local.Events = append(local.Events, bit)
		}
		if l.Formula == "" {
			continue // a property that is no formula
		}
		if s.NoReset {
			names = append(names, "sync")
		}
		local.Formula = formula(t, l.Formula, names)
		out.Locals = append(out.Locals, local)
	}
	for _, n := range stateNames {
		out.Atoms = append(out.Atoms, atomOf(out, n, s.State[n].Local, s.State[n].Top))
	}
	if s.Formula != "" {
		out.Checks = []Check{{Text: s.Formula, Formula: formula(t, s.Formula, stateNames)}}
	}
	return out, declared
}

// atomOf returns the atom by which a number of threads has a local property true.
func atomOf(s *Scope, name, local, top string) Atom {
	i := slices.IndexFunc(s.Locals, func(l Local) bool { return l.Name == local })
	return Atom{Name: name, Holds: func(c *Counts) bool {
		n := c.Of(i, True)
		switch top {
		case ">=1":
			return n >= 1
		case "<=1":
			return n <= 1
		case "==1":
			return n == 1
		case "none":
			return n == 0
		}
		return n == c.Size(s.Locals[i].Type)
	}}
}

// TestCases compares the regions of the oracle, and the verdicts and states of the monitor, with what the cases expect.
func TestCases(t *testing.T) {
	scopes := 0
	for name, c := range readCases(t) {
		for scopeName, s := range c.Property.Scopes {
			t.Run(name+"/"+scopeName, func(t *testing.T) {
				scopes++
				if s.NoReset {
					c.checkAcross(t, scopeName, &s)
					return
				}
				var want expectation
				if err := json.Unmarshal(c.Expect[scopeName], &want); err != nil {
					t.Fatal(err)
				}
				c.check(t, scopeName, &s, &want)
			})
		}
	}
	if scopes < 30 {
		t.Errorf("%d scopes", scopes)
	}
}

// numbers returns indices of events as their numbers.
func numbers(indices []int) []int {
	out := []int{}
	for _, i := range indices {
		out = append(out, i+1)
	}
	return out
}

func (c *scopeCase) check(t *testing.T, name string, s *caseScope, want *expectation) {
	t.Helper()
	if len(want.StateNames) == 0 { // of a scope that is refused
		want.StateNames = slices.Sorted(maps.Keys(s.State))
	}
	scope, declared := c.scope(t, name, s, want.StateNames)
	var actions []int
	for i, d := range declared {
		if d&1 != 0 {
			actions = append(actions, i)
		}
	}
	if diff := cmp.Diff(want.Actions, numbers(actions)); diff != "" {
		t.Fatalf("synchronising actions: %s", diff)
	}
	if len(want.Refused) > 0 {
		m := c.monitor(scope, nil)
		m.run(c.run, declared)
		pair, ok := m.Unordered()
		if found := m.Finish(); !ok || !slices.Contains(want.Refused, [2]int{int(pair[0].Seq), int(pair[1].Seq)}) || len(found) > 0 {
			t.Errorf("unordered are %d and %d, want one of %v; findings %v", pair[0].Seq, pair[1].Seq, want.Refused, found)
		}
		return
	}
	regions := c.order.regions(actions)
	outside := c.order.outside(actions, regions)
	for i, r := range regions {
		if diff := cmp.Diff(want.Regions[fmt.Sprint(i)], numbers(r)); diff != "" {
			t.Errorf("region %d: %s", i, diff)
		}
	}
	if diff := cmp.Diff(want.InNoRegion, numbers(outside)); diff != "" {
		t.Errorf("in no region: %s", diff)
	}
	c.checkVerdicts(t, scope, declared, outside, want)
	c.checkObserved(t, scope, declared, outside, want)
}

// run passes events to a monitor.
func (m *Monitor) run(events []event.Event, declared []uint64) {
	for i := range events {
		m.Event(&events[i], declared[i])
	}
}

// monitor returns the monitor of a scope in which the threads of the case are known from the start.
func (c *scopeCase) monitor(s *Scope, closed func(*State)) *Monitor {
	m := New(Options{Scope: s, Closed: closed})
	for i := range c.names {
		m.thread(event.ThreadID(i + 1))
	}
	return m
}

// checkVerdicts monitors what the regions of Definition 5 contain.
func (c *scopeCase) checkVerdicts(t *testing.T, scope *Scope, declared []uint64, outside []int, want *expectation) {
	t.Helper()
	inside := slices.Clone(declared)
	for _, i := range outside {
		inside[i] = 0
	}
	var got expectation
	m := c.monitor(scope, func(s *State) {
		verdicts, channel := map[string]map[string]any{}, map[string]map[string]any{}
		for i, l := range scope.Locals {
			verdicts[l.Name], channel[l.Name] = map[string]any{}, map[string]any{}
			for j, n := range c.names {
				id := event.ThreadID(j + 1)
				v, written := s.Local(i, id)
				verdicts[l.Name][n] = map[Verdict]string{Unknown: "?", True: "true", False: "false", NotApplicable: "na"}[v]
				channel[l.Name][n] = verdicts[l.Name][n]
				switch {
				case v == NotApplicable:
					channel[l.Name][n] = "-"
				case !written:
					channel[l.Name][n] = "na"
				}
			}
		}
		got.Verdicts, got.Channel = append(got.Verdicts, verdicts), append(got.Channel, channel)
		got.States = append(got.States, slices.Clone(s.Atoms))
		got.After = append(got.After, words[s.Verdicts[0]])
		if s.Concurrent != 0 {
			t.Errorf("region %d: %d events are concurrent with an action", s.Region, s.Concurrent)
		}
	})
	m.run(c.run, inside)
	found := m.Finish()
	if len(want.Actions) == 0 {
		m.close(nil, nil, nil) // The monitor has no verdict without synchronising actions; the definitions have one.
	} else if violated := want.After[len(want.After)-1] == "false"; violated != (len(found) == 1) {
		t.Errorf("%d findings, verdict %s", len(found), want.After[len(want.After)-1])
	}
	got.WithoutFirst = []string{}
	at := scope.Checks[0].Formula.Start()
	for _, s := range got.States[1:] {
		at = scope.Checks[0].Formula.Next(at, letterOf(s))
		got.WithoutFirst = append(got.WithoutFirst, words[scope.Checks[0].Formula.Verdict(at)])
	}
	for what, pair := range map[string][2]any{
		"local verdicts": {want.Verdicts, got.Verdicts}, "channel": {want.Channel, got.Channel}, "states": {want.States, got.States},
		"verdict after each region": {want.After, got.After}, "verdict without region 0": {want.WithoutFirst, got.WithoutFirst},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	if want.Messages != nil && want.Messages.Opportunistic != m.Stats().Actions {
		t.Errorf("%d messages, want %d", m.Stats().Actions, want.Messages.Opportunistic)
	}
}

var words = map[monitor.Verdict]string{monitor.Unknown: "?", monitor.True: "true", monitor.False: "false"}

func letterOf(atoms []bool) (l monitor.Letter) {
	for i, holds := range atoms {
		if holds {
			l |= 1 << i
		}
	}
	return l
}

// checkObserved compares the region of each event as it is observed, and the number of events that are concurrent with an
// action.
func (c *scopeCase) checkObserved(t *testing.T, scope *Scope, declared []uint64, outside []int, want *expectation) {
	t.Helper()
	m := c.monitor(scope, nil)
	regions := [][2]int{}
	concurrent := uint64(0)
	for i := range c.run {
		m.Event(&c.run[i], declared[i])
		if declared[i]&1 == 0 {
			regions = append(regions, [2]int{i + 1, int(m.region)})
			if slices.Contains(outside, i) && declared[i]&m.threads[c.run[i].Thread].events != 0 {
				concurrent++
			}
		}
	}
	m.Finish()
	if diff := cmp.Diff(want.ObservedRegion, regions); diff != "" {
		t.Errorf("observed regions: %s", diff)
	}
	if got := m.Stats().Concurrent; got != concurrent {
		t.Errorf("%d events are concurrent with an action, want %d", got, concurrent)
	}
}

// checkAcross checks local properties that are not reset.
func (c *scopeCase) checkAcross(t *testing.T, name string, s *caseScope) {
	t.Helper()
	var want []struct {
		Local, Thread, Verdict string
		Region                 uint64
	}
	if err := json.Unmarshal(c.Expect[name], &want); err != nil {
		t.Fatal(err)
	}
	scope, declared := c.scope(t, name, s, nil)
	got := map[string]string{}
	m := c.monitor(scope, func(s *State) {
		for i, l := range scope.Locals {
			for j, n := range c.names {
				v, _ := s.Local(i, event.ThreadID(j+1))
				got[fmt.Sprint(l.Name, n, s.Region)] = map[Verdict]string{Unknown: "?", True: "true", False: "false", NotApplicable: "not evaluated"}[v]
			}
		}
	})
	m.run(c.run, declared)
	m.Finish()
	checked := 0
	for _, w := range want {
		if v, ok := got[fmt.Sprint(w.Local, w.Thread, w.Region)]; ok {
			checked++
			if v != w.Verdict {
				t.Errorf("%s on %s in region %d: %s, want %s", w.Local, w.Thread, w.Region, v, w.Verdict)
			}
		}
	}
	if checked == 0 {
		t.Error("nothing was checked")
	}
}

// TestWords compares verdicts in LTL₃ with those of a case, after each prefix of a word.
func TestWords(t *testing.T) {
	c := readCases(t)["30_ltl3"]
	var want map[string][]string
	if err := json.Unmarshal(c.Expect["ltl"], &want); err != nil {
		t.Fatal(err)
	}
	names := []string{"read", "write", "c", "p"}
	for _, text := range c.Property.LTL {
		m := formula(t, text, names)
		at := m.Start()
		got := []string{words[m.Verdict(at)]}
		for _, letter := range c.Property.Word {
			l := monitor.Letter(0)
			for _, n := range letter {
				l |= 1 << slices.Index(names, n)
			}
			at = m.Next(at, l)
			got = append(got, words[m.Verdict(at)])
		}
		if diff := cmp.Diff(want[text], got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
