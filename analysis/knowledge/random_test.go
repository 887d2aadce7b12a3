package knowledge

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed" // equal cases each time
)

// TestRandom compares the monitor with Table 1 on the partial order: each verdict in each state
// (Theorem 3), the values of variables in each vector (Lemma 1), and those of remote expressions
// (Lemma 2). A permutation that keeps the causal order has the same verdicts.
func TestRandom(t *testing.T) { rapid.Check(t, compare) }

func FuzzRandom(f *testing.F) { f.Fuzz(rapid.MakeFuzz(compare)) }

func compare(t *rapid.T) {
	g := &drawer{t: t, threads: []string{"1", "2", "3", "4"}[:rapid.IntRange(2, 4).Draw(t, "threads")]}
	g.initial, g.locals = map[string]number{}, map[string]map[string]number{}
	for _, x := range []string{"x", "y", "z"}[:rapid.IntRange(1, 3).Draw(t, "variables")] {
		g.initial[x] = g.value()
	}
	for _, name := range g.threads {
		g.locals[name] = map[string]number{"a": g.value(), "b": g.value()}
	}
	actions := g.actions(rapid.IntRange(1, 14).Draw(t, "events"))
	formulas := map[string]*expr{}
	for i := range 3 {
		thread := g.thread()
		formulas[strconv.Itoa(i)] = &expr{op: "@", name: thread, x: g.formula(rapid.IntRange(0, 4).Draw(t, "depth"))}
	}
	o := newOracle(actions, g.initial, g.locals)
	order := make([]int, len(actions))
	for i := range order {
		order[i] = i
	}
	g.agrees(o, formulas, order)
	g.agrees(o, formulas, g.permuted(o))
}

// drawer draws executions and formulas.
type drawer struct {
	t       *rapid.T
	threads []string
	initial map[string]number
	locals  map[string]map[string]number
}

func (g *drawer) value() number    { return number(rapid.IntRange(0, 2).Draw(g.t, "value")) }
func (g *drawer) thread() string   { return rapid.SampledFrom(g.threads).Draw(g.t, "thread") }
func (g *drawer) variable() string { return g.of(slices.Sorted(maps.Keys(g.initial))) }
func (g *drawer) of(all []string) string {
	return rapid.SampledFrom(all).Draw(g.t, "one")
}

func (g *drawer) actions(n int) []action {
	all := make([]action, n)
	for i := range all {
		a := action{Thread: g.thread(), Op: g.of([]string{"read", "read", "write", "write", "internal", "acquire"}), Value: g.value()}
		switch a.Op {
		case "internal":
			a.Object = g.of([]string{"a", "b"})
		case "acquire":
			a.Object = "m"
		default:
			a.Object = g.variable()
		}
		all[i] = a
	}
	return all
}

func (g *drawer) expression(depth int) *expr {
	switch k := rapid.IntRange(0, 9).Draw(g.t, "expression"); {
	case depth == 0 || k < 4:
		return rapid.SampledFrom([]*expr{{op: "v", name: "a"}, {op: "v", name: "b"}, {op: "v", name: g.variable()}, {op: "c", n: 1}}).Draw(g.t, "atom")
	case k < 7:
		return &expr{op: "@", name: g.thread(), x: g.expression(depth - 1)}
	}
	return &expr{op: g.of([]string{"+", "-", "*"}), x: g.expression(depth - 1), y: g.expression(depth - 1)}
}

func (g *drawer) formula(depth int) *expr {
	if depth == 0 {
		if rapid.IntRange(0, 4).Draw(g.t, "access") == 0 {
			return &expr{op: g.of([]string{"read", "write"}), name: g.variable()}
		}
		return &expr{op: g.of([]string{"=", "!=", "<", "<=", ">", ">="}), x: g.expression(2), y: g.expression(2)}
	}
	switch op := g.of([]string{"!", "&&", "||", "->", "<->", "prev", "once", "hist", "since", "@", "@", "atom"}); op {
	case "atom":
		return g.formula(0)
	case "@":
		return &expr{op: op, name: g.thread(), x: g.formula(depth - 1)}
	case "!", "prev", "once", "hist":
		return &expr{op: op, x: g.formula(depth - 1)}
	default:
		return &expr{op: op, x: g.formula(depth - 1), y: g.formula(depth - 1)}
	}
}

// permuted returns the events in another order that keeps the causal one.
func (g *drawer) permuted(o *oracle) (order []int) {
	for len(order) < len(o.actions) {
		var ready []int
		for i := range o.actions {
			waits := func(k int) bool { return o.before[k][i] && !slices.Contains(order, k) }
			if all := numbers(len(o.actions)); !slices.Contains(order, i) && !slices.ContainsFunc(all, waits) {
				ready = append(ready, i)
			}
		}
		order = append(order, rapid.SampledFrom(ready).Draw(g.t, "next"))
	}
	return order
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// agrees compares the monitor with the oracle, on the events in an order.
func (g *drawer) agrees(o *oracle, formulas map[string]*expr, order []int) {
	x := newExecution(g.threads, g.initial, g.locals, formulas)
	for _, i := range order {
		a := &o.actions[i]
		x.do(i, a)
		for name, f := range formulas {
			got, ok := x.verdicts[name][i]
			if ok != (f.name == a.Thread) {
				g.t.Fatalf("%s has a verdict at event %d: %v", name, i, ok)
			}
			if want := o.eval(a.Thread, i, f.x) != 0; ok && got != want {
				g.t.Fatalf("Theorem 3: formula %s at event %d: %v, want %v", name, i, got, want)
			}
		}
		own := x.monitor.declared[x.world.number(a.Thread)]
		for v, name := range x.world.variables {
			e, writes := own.vector.at(v), o.writes(name, i)
			if int(e.seq) != len(writes) || len(writes) > 0 && number(e.value) != o.value("", i, name) {
				g.t.Fatalf("Lemma 1: %s at event %d is %+v", name, i, e)
			}
		}
		for _, r := range x.monitor.remotes {
			thread := g.threads[r.key.body.Thread]
			want := o.eval(thread, o.latest(thread, i), x.exprOf(r.key.body))
			got := r.initial
			if e, ok := x.monitor.known(own, r); ok {
				got = e.value
			}
			if int64(got) != want {
				g.t.Fatalf("Lemma 2: @%s at event %d is %d, want %d", thread, i, int64(got), want)
			}
		}
	}
}

// exprOf returns the expression of a body.
func (x *execution) exprOf(b *Body) *expr { return x.world.exprs[b] }
