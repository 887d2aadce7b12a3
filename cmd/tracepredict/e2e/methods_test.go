package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes/function"
)

// patterns parses patterns of functions.
func patterns(t testing.TB, texts []string) []function.Pattern {
	t.Helper()
	var out []function.Pattern
	for _, text := range texts {
		p, err := function.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// patternCounts are the observed calls and returns of one pattern.
type patternCounts struct {
	Events int
	Args   [event.MaxArgs]int64 // sums, by position in the event
	Values int64                // sum of the results
}

// tallyCalls counts the observed calls and returns of each pattern.
func (r *run) tallyCalls() map[string]patternCounts {
	out := map[string]patternCounts{}
	for i := range r.Events {
		e := &r.Events[i]
		if !e.Op.IsCall() {
			continue
		}
		f, _ := r.Observer.FuncInfo(e.Func)
		for _, on := range f.Patterns {
			if on.Return != (e.Op == event.Return) {
				continue
			}
			n := out[on.Pattern]
			n.Events++
			for i, v := range e.Args {
				n.Args[i] += int64(v)
			}
			n.Values += int64(e.Value)
			out[on.Pattern] = n
		}
	}
	return out
}

// readNumbers reads the numbers of a line that the program printed.
func (r *run) readNumbers(t testing.TB, word string, numbers ...*int64) {
	t.Helper()
	for line := range strings.Lines(r.Output) {
		rest, ok := strings.CutPrefix(line, word+" ")
		if !ok {
			continue
		}
		var to []any
		for _, n := range numbers {
			to = append(to, n)
		}
		if _, err := fmt.Sscan(rest, to...); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return
	}
	t.Fatalf("the program did not say %q", word)
}

// TestMethodsC checks that each call and return of a C program's functions is observed,
// with arguments and results, also of functions that recurse, end in a jump to each
// other, or have many parameters, and of objects that are created and freed at the same
// addresses.
func TestMethodsC(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"-O0"}, {"-O2"}, {"-O2", "-fcf-protection"}, {"-O2", "-static"}} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			program := build(t, "gcc", "methods.c", append(flags, "-pthread")...)
			eachSites(t, func(t *testing.T, opts options) {
				opts.On = []string{"call queue_put(q, v)", "return queue_put -> r", "call queue_new", "return queue_new -> q", "call queue_fr*",
					"return factorial", "return even", "return odd(n)", "call even", "call odd", "call sum(n)"}
				r := observe(t, program, opts)
				r.expectExit(t, 0)
				var puts, putSum, putReturns, made, freed, facts, evens, odds, sums, sumArgs int64
				r.readNumbers(t, "puts", &puts, &putSum, &putReturns)
				r.readNumbers(t, "others", &made, &freed, &facts, &evens, &odds, &sums, &sumArgs)
				got := r.tallyCalls()
				for pattern, n := range map[string]int64{"call queue_put(q, v)": puts, "return queue_put -> r": puts, "call queue_new": made,
					"return queue_new -> q": made, "call queue_fr*": freed, "return factorial": facts, "return even": evens, "return odd(n)": odds, "call even": evens, "call odd": odds, "call sum(n)": sums} {
					if int64(got[pattern].Events) != n {
						t.Errorf("%s: %d events, want %d", pattern, got[pattern].Events, n)
					}
				}
				if n := got["call queue_put(q, v)"]; n.Args[1] != putSum {
					t.Errorf("queue_put was passed %d, want %d", n.Args[1], putSum)
				}
				if n := got["return queue_put -> r"]; n.Values != putReturns {
					t.Errorf("queue_put returned %d, want %d", n.Values, putReturns)
				}
				if sum := got["call sum(n)"].Args[0]; sum != sumArgs {
					t.Errorf("sum was passed %d, want %d", sum, sumArgs)
				}
			})
		})
	}
}

// TestMethodsCPP is TestMethodsC for the methods of C++. An exception that leaves a
// function is no return.
func TestMethodsCPP(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"-O0"}, {"-O2"}, {"-O2", "-gdwarf-4", "-no-pie"}} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			program := build(t, "g++", "methods.cc", append(flags, "-std=c++17")...)
			eachSites(t, func(t *testing.T, opts options) {
				opts.On = []string{"call shop::Queue::put(v)", "call `shop::Queue<int>::put`", "call shop::Queue::take", "return shop::Queue::take(n) -> r",
					"call shop::Queue::Queue", "call shop::Queue::~Queue", "call shop::*::area(scale)", "return shop::Square::area", "call shop::Queue::big(this, n)",
					"return shop::Queue::big", "call `shop::over(int)`", "call shop::over", "call shop::many(_, _, _, _, _, _, g, h)",
					"call shop::mix(_, a, _, _, _, z)", "call shop::inside(n)"}
				r := observe(t, program, opts)
				r.expectExit(t, 0)
				var puts, putSum, takes, thrown, made, gone, areas, areaSum, bigs, bigSum, manys, manySum, mixed, mixedSum, inlines, inlineSum, ints, longs int64
				r.readNumbers(t, "queues", &puts, &putSum, &takes, &thrown, &made, &gone)
				r.readNumbers(t, "others", &areas, &areaSum, &bigs, &bigSum, &manys, &manySum, &mixed, &mixedSum, &inlines, &inlineSum, &ints, &longs)
				got := r.tallyCalls()
				for pattern, n := range map[string]int64{"call shop::Queue::put(v)": puts, "call `shop::Queue<int>::put`": puts / 2, "call shop::Queue::take": takes,
					"return shop::Queue::take(n) -> r": takes - thrown, "call shop::Queue::Queue": made, "call shop::Queue::~Queue": gone,
					"call shop::*::area(scale)": areas, "return shop::Square::area": areas, "call shop::Queue::big(this, n)": bigs, "return shop::Queue::big": bigs,
					"call `shop::over(int)`": ints, "call shop::over": ints + longs, "call shop::many(_, _, _, _, _, _, g, h)": manys,
					"call shop::mix(_, a, _, _, _, z)": mixed, "call shop::inside(n)": inlines} {
					if int64(got[pattern].Events) != n {
						t.Errorf("%s: %d events, want %d", pattern, got[pattern].Events, n)
					}
				}
				for pattern, sums := range map[string][]int64{"call shop::Queue::put(v)": {putSum}, "call shop::*::area(scale)": {areaSum}} {
					for i, want := range sums {
						if sum := got[pattern].Args[i]; sum != want {
							t.Errorf("%s: argument %d sums up to %d, want %d", pattern, i, sum, want)
						}
					}
				}
				if n := got["call shop::many(_, _, _, _, _, _, g, h)"]; n.Args[0]+n.Args[1] != manySum {
					t.Errorf("many was passed %d, want %d", n.Args[0]+n.Args[1], manySum)
				}
				if n := got["call shop::mix(_, a, _, _, _, z)"]; n.Args[0]+1000*n.Args[1] != mixedSum {
					t.Errorf("mix was passed %d, want %d", n.Args[0]+1000*n.Args[1], mixedSum)
				}
				if n := got["call shop::Queue::big(this, n)"]; n.Args[1] != bigSum {
					t.Errorf("big was passed %d, want %d", n.Args[1], bigSum)
				}
				r.expectInstances(t, "call shop::Queue::put(v)", int(made))
			})
		})
	}
}

// expectInstances checks that the events of a pattern are on this number of instances.
func (r *run) expectInstances(t *testing.T, pattern string, want int) {
	t.Helper()
	seen := map[event.ObjectID]bool{}
	for i := range r.Events {
		f, _ := r.Observer.FuncInfo(r.Events[i].Func)
		for _, on := range f.Patterns {
			if on.Pattern == pattern {
				seen[r.Events[i].Object] = true
			}
		}
	}
	if len(seen) != want {
		t.Errorf("%s: on %d objects, want %d", pattern, len(seen), want)
	}
}

// TestMethodsPlugin checks that a pattern can match a function of a library that the
// program loads itself.
func TestMethodsPlugin(t *testing.T) {
	t.Parallel()
	plugin := build(t, "gcc", "methods_plugin.c", "-shared", "-fPIC")
	program := build(t, "gcc", "methods_dlopen.c")
	r := observe(t, program, options{Args: []string{plugin}, On: []string{"call plug_step(n)"}})
	r.expectExit(t, 0)
	var calls, sum int64
	r.readNumbers(t, "plugin", &calls, &sum)
	want := patternCounts{Events: int(calls), Args: [event.MaxArgs]int64{sum}}
	if got := r.tallyCalls()["call plug_step(n)"]; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestMethodsStripped checks that without debug information the parameters of a
// function are the argument registers, and only functions that other files can use have
// names.
func TestMethodsStripped(t *testing.T) {
	t.Parallel()
	program := build(t, "gcc", "methods.c", "-O2", "-pthread", "-rdynamic", "-s")
	r := observe(t, program, options{On: []string{"call queue_put(q, v)", "return queue_new", "call sum(n)", "return even"}})
	r.expectExit(t, 0)
	var puts, putSum, putReturns, made, freed, facts, evens, odds, sums, sumArgs int64
	r.readNumbers(t, "puts", &puts, &putSum, &putReturns)
	r.readNumbers(t, "others", &made, &freed, &facts, &evens, &odds, &sums, &sumArgs)
	got := r.tallyCalls()
	for pattern, n := range map[string]int64{"call queue_put(q, v)": puts, "return queue_new": made, "call sum(n)": sums, "return even": evens} {
		if int64(got[pattern].Events) != n {
			t.Errorf("%s: %d events, want %d", pattern, got[pattern].Events, n)
		}
	}
	if n := got["call sum(n)"].Args[0]; n != sumArgs {
		t.Errorf("sum was passed %d, want %d", n, sumArgs)
	}
	for i := range r.Events {
		if f, _ := r.Observer.FuncInfo(r.Events[i].Func); f.Name == "sum" && f.Params[0].Name != "arg1" {
			t.Fatalf("%+v", f)
		}
	}
}

// TestStored checks that a pattern can bind what a function has stored at an address, with the type of the debug
// information, or without one as a pointer or an int.
func TestStored(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"-O0 -g", "-O2 -g", "-O2 -s -rdynamic"} {
		t.Run(flags, func(t *testing.T) {
			program := build(t, "gcc", "stored.c", strings.Fields(flags)...)
			on := []string{"return box_make(_, *b) -> rc", "return pair_make(*a : int)", "return pair_make(z[1] : int)", "call pair_make(_, n)"}
			if !strings.Contains(flags, "-s ") {
				on = append(on, "return small_make(*c)", "return small_make(*c, n)")
			}
			r := observe(t, program, options{On: on})
			r.expectExit(t, 0)
			var made, sum, first, second, small int64
			r.readNumbers(t, "stored", &made, &sum, &first, &second, &small)
			var got [5]int64
			for i := range r.Events {
				e := &r.Events[i]
				if !e.Op.IsCall() {
					continue
				}
				f, _ := r.Observer.FuncInfo(e.Func)
				switch {
				case e.Op == event.Call && (f.Name != "pair_make" || len(e.Args) != 1):
					t.Errorf("%s is called with %d", f.Name, e.Args)
				case e.Op == event.Call:
				case f.Name == "box_make" && e.Value == 0:
					got[0]++
					got[1] += int64(e.Args[0])
				case f.Name == "pair_make": // n comes before what is stored
					got[2] += int64(e.Args[1])
					got[3] += int64(e.Args[2])
				case f.Name == "small_make":
					got[4] += int64(e.Args[1])
				}
			}
			if len(on) == 4 {
				small = 0
			}
			if want := [5]int64{made, sum, first, second, small}; got != want {
				t.Errorf("%d, want %d", got, want)
			}
		})
	}
}

// TestMethodsChanged checks that the recorded parameters are those that are passed, if
// the compiler removed some, that a note names what is not recorded, and that all
// versions of a function that is selected at load time are observed.
func TestMethodsChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ compiler, flags string }{{"gcc", "-O0"}, {"gcc", "-O2"}, {"clang-19", "-O2"}, {"clang-19", "-O2 -gdwarf-4"}} {
		t.Run(c.compiler+strings.ReplaceAll(c.flags, " ", ""), func(t *testing.T) {
			program := build(t, c.compiler, "methods_changed.c", strings.Fields(c.flags)...)
			on := []string{"call first(_, a, b)", "call last(a)", "call seen(_, a)", "call pick"}
			r := observe(t, program, options{On: append(on, "call seen(unread)")})
			r.expectExit(t, 0)
			var calls, as, bs, picks int64
			r.readNumbers(t, "changed", &calls, &as, &bs, &picks)
			got := r.tallyCalls()
			first, last, seen, pick := got[on[0]], got[on[1]], got[on[2]], got[on[3]]
			if n := int64(first.Events + last.Events + seen.Events); n != calls || int64(pick.Events) != picks {
				t.Errorf("%d calls and %d of pick, want %d and %d", n, pick.Events, calls, picks)
			}
			at := len(seen.Args) - 1
			for at > 0 && seen.Args[at] == 0 {
				at-- // after unread, if that is recorded
			}
			if a := first.Args[0] + last.Args[0] + seen.Args[at]; a != as || first.Args[1] != bs {
				t.Errorf("a and b add up to %d and %d, want %d and %d", a, first.Args[1], as, bs)
			}
			told := slices.ContainsFunc(r.Session.Notes(), func(n string) bool { return strings.Contains(n, "parameter unread of seen is not recorded") })
			if told != (c.compiler == "clang-19") {
				t.Errorf("notes: %q", r.Session.Notes())
			}
		})
	}
}

// TestMethodsInlined checks that each return of an inlined function is observed once,
// before the next call of the same function and after all that it did, or that a note
// says that not all are.
func TestMethodsInlined(t *testing.T) {
	t.Parallel()
	names := []string{"plain", "early", "loops", "dies", "tail"}
	for _, c := range []struct{ compiler, flags string }{{"gcc", "-O0"}, {"gcc", "-O1"}, {"gcc", "-O2"}, {"clang-19", "-O2"}} {
		t.Run(c.compiler+c.flags, func(t *testing.T) {
			program := build(t, c.compiler, "inlined.c", c.flags)
			opts := options{On: []string{"call work", "return work"}}
			for _, name := range names {
				opts.On = append(opts.On, "call "+name, "return "+name)
			}
			r := observe(t, program, opts)
			r.expectExit(t, 0)
			counts := make([]int64, len(names))
			r.readNumbers(t, "inlined", &counts[0], &counts[1], &counts[2], &counts[3], &counts[4])
			var silent []string
			got := r.tallyCalls()
			for i, name := range names {
				said := slices.ContainsFunc(r.Session.Notes(), func(n string) bool { return strings.Contains(n, name+" is inlined at ") })
				if said {
					silent = append(silent, name)
				}
				if calls := int64(got["call "+name].Events); calls != counts[i] && !said {
					t.Errorf("%s: %d calls, want %d", name, calls, counts[i])
				}
				if returns := int64(got["return "+name].Events); returns > counts[i] || returns < counts[i] && !said {
					t.Errorf("%s: %d returns, want %d", name, returns, counts[i])
				}
			}
			if len(silent) == len(names) {
				t.Error("of none all returns are seen")
			}
			r.expectNested(t, silent)
		})
	}
}

// expectNested checks that calls and returns nest, except those of some functions.
func (r *run) expectNested(t *testing.T, but []string) {
	t.Helper()
	var open []string
	for i := range r.Events {
		e := &r.Events[i]
		if !e.Op.IsCall() {
			continue
		}
		f, _ := r.Observer.FuncInfo(e.Func)
		switch {
		case slices.Contains(but, f.Name):
		case e.Op == event.Call:
			open = append(open, f.Name)
		case len(open) == 0 || open[len(open)-1] != f.Name:
			t.Fatalf("event %d: %s returns within %q", i, f.Name, open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%q have not returned", open)
	}
}
